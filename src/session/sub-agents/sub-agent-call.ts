import { z } from 'zod';
import { lazily } from '../../platform/lazily.ts';
import { success } from '../../tools/result.ts';
import { ToolError } from '../../vocabulary/tool-error.ts';
import type { SessionResult } from '../session.ts';

/** The input of a call of a sub-agent, and the texts that such a call gets. */
export const subAgentInput = lazily(() =>
  z.object({
    prompt: z
      .string()
      .trim()
      .min(1)
      .describe('The task, with everything needed to do it: the sub-agent sees nothing else.'),
    reason: z.string().trim().min(1).describe('Why you delegate the task, in one sentence.'),
  }),
);

export const callIsOver = new Error('its call was aborted');

export const budgetSpent = 'The shared budget is spent: do the task yourself, or report what you have.';

export function tooDeep(maxDepth: number) {
  return { slug: 'depth_exceeded' as const, reason: `Sub-agent depth limit: ${maxDepth - 1}. Do it yourself.` };
}

/** Returns what a sub-agent reported, as the value of its call. Throws what the call's result says of any other end. */
export function subAgentReport(name: string, { success: succeeded, report, status, slugs }: SessionResult): unknown {
  if (succeeded) return success(report.content);
  throw new ToolError(`The agent ${name} ${status}: ${slugs.join(', ')}.`, { slugs, report: String(report.content) });
}
