import { z } from 'zod';
import type { ReplyCall } from '../../../machines/index.ts';
import { lazily } from '../../platform/lazily.ts';
import type { CatalogTool } from '../catalog-tool.ts';
import { schemaTool } from '../schema-tool.ts';

const batchInput = lazily(() => {
  const call = z.strictObject({
    tool: z.string().describe('The name of the tool.'),
    input: z.record(z.string(), z.unknown()).default({}).describe('Its input.'),
  });
  return z.strictObject({ calls: z.array(call).min(1).describe('The calls to run in parallel.') });
});

/** Combines several real tool calls in one call, which is split up before anything runs (T-2). */
export function batchTool(name: string): CatalogTool {
  return schemaTool({
    name,
    kind: 'batch',
    description:
      'Calls several tools in parallel and returns all their results. Not for calls that need the result of another.',
    input: batchInput(),
    execute: () => undefined,
  });
}

/** Returns the calls inside a valid input, with ids that no provider uses. */
export function callsInside(callId: string, input: unknown): ReplyCall[] {
  return batchInput()
    .parse(input)
    .calls.map(({ tool, input: inner }, index) => ({
      type: 'tool-call',
      callId: `${callId}/${index}`,
      name: tool,
      input: JSON.stringify(inner),
      providerExecuted: false,
    }));
}
