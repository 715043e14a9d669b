import { z } from 'zod';
import type { ReplyCall } from '../../../machines/index.ts';
import { compileSchema } from '../../model/schema.ts';
import { type CatalogTool, functionTool, later } from '../catalog.ts';

export const batchName = 'batch';

const call = z.strictObject({
  tool: z.string().describe('The name of the tool.'),
  input: z.record(z.string(), z.unknown()).default({}).describe('Its input.'),
});
const batchInput = z.strictObject({ calls: z.array(call).min(1).describe('The calls; they run side by side.') });

/** The tool that brings several calls of real tools in one call; it is taken apart before anything runs (T-2). */
export function batchTool(): CatalogTool {
  const schema = compileSchema(batchInput, 'batch');
  return {
    name: batchName,
    kind: 'batch',
    offered: later(
      Promise.resolve(schema.jsonSchema).then((jsonSchema) =>
        functionTool(
          batchName,
          'Calls several tools at once, side by side, and gives all their results. Not for calls that need the result of another.',
          jsonSchema,
        ),
      ),
    ),
    validate: (input) => schema.validate(input),
    needsApproval: () => false,
    execute: () => undefined,
    toModelOutput: null,
    judgeReport: null,
  };
}

/** The calls inside a valid input, under ids that no provider gives. */
export function callsInside(callId: string, input: unknown): ReplyCall[] {
  return batchInput.parse(input).calls.map(({ tool, input: inner }, index) => ({
    type: 'tool-call',
    callId: `${callId}/${index}`,
    name: tool,
    input: JSON.stringify(inner),
    providerExecuted: false,
  }));
}
