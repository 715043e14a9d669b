import type { RehearsedReply } from './rehearsal-model.ts';

/** What a model may do in one attempt, as far as the bound can tell. */
export type Step = 'tool' | 'empty' | 'report' | 'bad report' | 'tool and bad report';

export type SessionPath = {
  /** What the model does, attempt by attempt. */
  steps: Step[];
  /** The same as a script for `rehearsalModel` or `startModelServer`. */
  replies: Pick<RehearsedReply, 'calls'>[];
  /** What has to come of it. */
  expected: { status: 'succeeded' | 'failed'; turns: number; requests: number; collapses: number };
};

export type SessionPathsOptions = {
  /** A call that the agent's tools take; without one, no path calls a tool. */
  call?: { name: string; input?: unknown };
  /** A report that the agent's format accepts; default a text. */
  report?: unknown;
  /** What the model may do; default all of it. */
  steps?: readonly Step[];
};

/**
 * All the ways that a session can take within its limits, by what the model does in each attempt, with what has to come of
 * each: worked out here from the specification alone, without the rules that the machines run by. Their number grows with
 * the power of the bound: about 600 for 2 x 2, 15,000 for 3 x 2.
 */
export function sessionPaths(
  limits: { maxTurns: number; maxRetries: number },
  options: SessionPathsOptions = {},
): SessionPath[] {
  const { call, report = 'All done.' } = options;
  const possible = (options.steps ?? ['tool', 'empty', 'report', 'bad report', 'tool and bad report']).filter(
    (step) => call !== undefined || !step.startsWith('tool'),
  );
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
      // On the last turn a tool is not executed, so that nothing but the report ends it well.
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
