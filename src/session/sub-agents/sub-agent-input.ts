import { z } from 'zod';

/** The input of a call of a sub-agent. */
export const subAgentInput = z.object({
  prompt: z
    .string()
    .trim()
    .min(1)
    .describe('The task, with everything needed to do it: the sub-agent sees nothing else.'),
  reason: z.string().trim().min(1).describe('Why you delegate the task, in one sentence.'),
});
