import type { z } from 'zod';
import { compileSchema } from '../schema/schema.ts';
import { type CatalogTool, functionTool, later, type ToolRun } from './catalog-tool.ts';

/** Builds one of Pawl's own tools, whose input is parsed by a zod schema. */
export function schemaTool<Input>({
  name,
  description,
  input: inputSchema,
  execute,
  ...over
}: {
  name: string;
  description: string;
  input: z.ZodType<Input>;
  execute: (input: Input, run: ToolRun) => unknown;
} & Partial<Omit<CatalogTool, 'execute'>>): CatalogTool {
  const schema = compileSchema(inputSchema, name);
  return {
    name,
    kind: 'real',
    offered: later(
      Promise.resolve(schema.jsonSchema).then((jsonSchema) => functionTool(name, description, jsonSchema)),
    ),
    validate: (input) => schema.validate(input),
    execute: (input, run) => execute(inputSchema.parse(input), run),
    ...over,
  };
}
