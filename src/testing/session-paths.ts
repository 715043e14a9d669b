import { z } from 'zod';
import { check } from '../input/check.ts';
import { unexpected } from '../input/errors.ts';
import { count, oneOf } from '../input/shapes.ts';
import { callSchema, type RehearsedReply } from './rehearsal-model.ts';

const allSteps = ['tool', 'empty', 'report', 'bad report', 'tool and bad report'] as const;

/** The kinds of attempt that affect the bound. */
export type Step = (typeof allSteps)[number];

export type SessionPath = {
  /** The model's steps, one per attempt. */
  steps: Step[];
  /** The same steps as a script for `rehearsalModel` or `startModelServer`. */
  replies: Pick<RehearsedReply, 'calls'>[];
  /** The required outcome. */
  expected: { status: 'succeeded' | 'failed'; turns: number; requests: number; collapses: number };
};

export type SessionPathsOptions = {
  /** A call that the agent's tools accept. Without one, no path calls a tool. */
  call?: { name: string; input?: unknown };
  /** A report that the agent's format accepts; default: a text. */
  report?: unknown;
  /** The steps that the model may take; default: all. */
  steps?: readonly Step[];
};

/** Not strict: an agent's limits have more fields. */
export const boundSchema = z.object({ maxTurns: count, maxRetries: count }, { error: '{ maxTurns, maxRetries }' });
const optionsSchema = z.strictObject({
  call: callSchema.optional(),
  report: z.unknown().optional(),
  steps: z.array(oneOf(...allSteps), { error: 'an array of steps' }).optional(),
} satisfies Record<keyof SessionPathsOptions, z.ZodType>);

/**
 * Returns every path that a session can take within its limits, as the model's step in each attempt and the required
 * outcome. Outcomes are derived from the specification alone, without the machines' rules. The number of paths grows
 * exponentially with the bound: about 600 for 2 x 2, 15,000 for 3 x 2. Throws `invalid_options`, also if no step is
 * possible.
 */
export function sessionPaths(
  limits: { maxTurns: number; maxRetries: number },
  options: SessionPathsOptions = {},
): SessionPath[] {
  check<unknown>(boundSchema, limits, 'limits', 'invalid_options');
  check<unknown>(optionsSchema, options, 'options', 'invalid_options');
  const { call, report = 'All done.', steps = allSteps } = options;
  const possible = steps.filter((step) => call !== undefined || !step.startsWith('tool'));
  if (possible.length === 0) {
    throw unexpected('invalid_options', 'options.steps', steps, 'steps, one of them possible without `call`');
  }
  const good = { name: 'final_report', input: { content: report } };
  const bad = { name: 'final_report', input: {} };
  const replyTo: Record<Step, Pick<RehearsedReply, 'calls'>> = {
    tool: { calls: call === undefined ? [] : [call] },
    empty: {},
    report: { calls: [good] },
    'bad report': { calls: [bad] },
    'tool and bad report': { calls: call === undefined ? [bad] : [call, bad] },
  };
  const paths: SessionPath[] = [];
  const end = (steps: Step[], status: 'succeeded' | 'failed', turns: number, collapses: number) => {
    const replies = steps.map((step) => replyTo[step]);
    paths.push({ steps, replies, expected: { status, turns, requests: steps.length, collapses } });
  };
  const walk = (steps: Step[], turn: number, attempt: number, maxTurns: number, collapses: number): void => {
    for (const step of possible) {
      const next = [...steps, step];
      const shrunk = step.endsWith('bad report') ? Math.min(maxTurns, turn + 1) : maxTurns;
      const collapsed = collapses + (shrunk < maxTurns ? 1 : 0);
      // Tools are not executed on the last turn, so only a report ends it successfully.
      const progresses = step.startsWith('tool') && turn < maxTurns;
      if (step === 'report') end(next, 'succeeded', turn, collapses);
      else if (progresses) walk(next, turn + 1, 1, shrunk, collapsed);
      else if (attempt < limits.maxRetries) walk(next, turn, attempt + 1, shrunk, collapsed);
      else end(next, 'failed', turn, collapsed);
    }
  };
  walk([], 1, 1, limits.maxTurns, 0);
  return paths;
}
