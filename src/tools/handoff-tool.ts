import { z } from 'zod';
import { lazily } from '../platform/lazily.ts';
import type { AnySchema } from '../schema/schema.ts';
import type { CatalogTool } from './catalog-tool.ts';
import { type LocalTool, localTool } from './local.ts';
import { schemaTool } from './schema-tool.ts';

const handoffInput = lazily(() =>
  z.object({
    reason: z.string().optional().describe('Why you hand the conversation over, in one sentence.'),
  }),
);

/** The name of the tool that hands the conversation to the agent of this name (T-8). */
export function handoffName(agent: string): string {
  return `transfer_to_${agent}`;
}

type OwnHandoff = {
  input?: AnySchema | undefined;
  onHandoff?: ((input: never, context: never) => unknown) | undefined;
};

/** Builds the tool that hands the conversation over. The next turn reads that it was called. */
export function handoffTool(agent: string, purpose: string | undefined, own: OwnHandoff = {}): CatalogTool {
  const name = handoffName(agent);
  const description =
    `Hands the conversation to the agent ${agent}, which continues it from the next turn. ${purpose ?? ''}`.trim();
  const text = `The agent ${agent} takes over the conversation.`;
  const { input = handoffInput(), onHandoff } = own;
  if (own.input === undefined && onHandoff === undefined)
    return schemaTool({
      ...{ name, description, input: handoffInput(), handsTo: agent },
      afterCrash: 'repeat',
      execute: () => text,
    });
  const execute = async (stated: never, context: never) => (await onHandoff?.(stated, context)) ?? text;
  return { ...localTool(name, { description, inputSchema: input, execute } as LocalTool), handsTo: agent };
}
