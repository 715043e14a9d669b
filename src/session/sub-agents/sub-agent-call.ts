import { z } from 'zod';

/** The input of a call of a sub-agent, and the texts that such a call gets. */
export const subAgentInput = z.object({
  prompt: z
    .string()
    .trim()
    .min(1)
    .describe('The task, with everything needed to do it: the sub-agent sees nothing else.'),
  reason: z.string().trim().min(1).describe('Why you delegate the task, in one sentence.'),
});

export const callIsOver = new Error('its call was aborted');

export const budgetSpent = 'The shared budget is spent: do the task yourself, or report what you have.';

export function tooDeep(maxDepth: number) {
  return { slug: 'depth_exceeded' as const, reason: `Sub-agent depth limit: ${maxDepth - 1}. Do it yourself.` };
}
