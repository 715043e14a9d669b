import { z } from 'zod';
import { compileSchema } from '../../model/schema.ts';
import { type CatalogTool, functionTool, later } from '../catalog.ts';
import { ToolError } from '../result.ts';
import type { ResultStore } from '../result-store.ts';

export const readResultName = 'read_result';

const readInput = z.object({
  id: z.string().describe('The id that the shortened result named.'),
  page: z.int().min(1).default(1).describe('The page, from 1.'),
});

/** The tool that reads what was left out of a large result, so that nothing that a tool returned is lost to the model. */
export function readResultTool(store: ResultStore): CatalogTool {
  const schema = compileSchema(readInput, 'read_result');
  return {
    name: readResultName,
    kind: 'real',
    offered: later(
      Promise.resolve(schema.jsonSchema).then((jsonSchema) =>
        functionTool(readResultName, 'Reads a page of a result that was too large to be shown whole.', jsonSchema),
      ),
    ),
    validate: (input) => schema.validate(input),
    needsApproval: () => false,
    execute: (input) => {
      const { id, page } = readInput.parse(input);
      const found = store.page(id, page);
      if (found === null) throw new ToolError(`There is no page ${page} of a result ${id}.`);
      return `[page ${page} of ${found.of} of ${id}]\n${found.text}`;
    },
    toModelOutput: null,
    judgeReport: null,
  };
}
