import { z } from 'zod';
import type { Agent } from '../../agent/definition.ts';
import { lazily } from '../../platform/lazily.ts';
import type { CatalogTool, ToolRun } from '../../tools/catalog-tool.ts';
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

/** How a sub-agent is offered to the model: its purpose, its input, and the refusal of a call that is too deep. */
export function offeredAs(
  { name, definition }: Agent,
  { depth, maxDepth }: { depth: number; maxDepth: number },
): { description: string; input: ReturnType<typeof subAgentInput>; refusal?: NonNullable<CatalogTool['refusal']> } {
  const { description = `Gives a task to the agent ${name} and returns its report.` } = definition;
  const reason = `Sub-agent depth limit: ${maxDepth - 1}. Do it yourself.`;
  const refusal = { slug: 'depth_exceeded' as const, reason };
  return { description, input: subAgentInput(), ...(depth >= maxDepth && { refusal }) };
}

/** Returns the report that an earlier session of the agent gave for the same prompt, if it is kept, or makes one (C-9c). */
export function cachedReport(
  { reports }: Agent,
  prompt: string,
  { context, now, signal, noteCached: hit, noteFailed: told }: ToolRun,
  alone: AbortSignal,
  make: () => Promise<unknown>,
): Promise<unknown> {
  if (reports === null) return make();
  return reports.value({ input: { prompt }, context, now, signal, alone, hit, told }, make);
}

/** Returns what a sub-agent reported, as the value of its call. Throws what the call's result says of any other end. */
export function subAgentReport(name: string, { success: succeeded, report, status, slugs }: SessionResult): unknown {
  if (succeeded) return success(report.content);
  throw new ToolError(`The agent ${name} ${status}: ${slugs.join(', ')}.`, { slugs, report: String(report.content) });
}
