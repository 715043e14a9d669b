import { z } from 'zod';
import { lazily } from '../platform/lazily.ts';
import type { CatalogTool } from './catalog-tool.ts';
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

/** Builds the tool that hands the conversation over. The next turn reads that it was called. */
export function handoffTool(agent: string, description: string | undefined): CatalogTool {
  return schemaTool({
    name: handoffName(agent),
    description: [
      `Hands the conversation to the agent ${agent}, which continues it from the next turn.`,
      description ?? '',
    ]
      .join(' ')
      .trim(),
    input: handoffInput(),
    afterCrash: 'repeat',
    handsTo: agent,
    execute: () => `The agent ${agent} takes over the conversation.`,
  });
}
