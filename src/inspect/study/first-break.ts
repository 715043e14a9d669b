import type { ShownRecording } from '../recorded/shown-recording.ts';

/** The bound that a session must keep to; default: its own. */
export type BoundLimits = { maxTurns: number; maxRetries: number };

/** Returns the first step after which a promise of every session is broken, from 0; null if each keeps all. */
export function firstBreak(recorded: ShownRecording, limits?: BoundLimits): { step: number; promise: string } | null {
  const bound = limits ?? recorded.heads.get('')?.input.bound;
  for (const [step, { facts }] of recorded.microsteps.entries()) {
    const promise = brokenAt(recorded, facts, bound);
    if (promise !== null) return { step, promise };
  }
  return null;
}

function brokenAt(recorded: ShownRecording, told: number, bound: BoundLimits | undefined): string | null {
  const counts = recorded.countersAt(told);
  const of = (path: string) => counts.get(path) ?? 0;
  const most = bound === undefined ? Number.POSITIVE_INFINITY : bound.maxTurns * bound.maxRetries;
  const promises: [boolean, string][] = [
    [
      of('requests') === of('attempts') + of('summaries'),
      `requests (${of('requests')}) = attempts (${of('attempts')}) + summaries (${of('summaries')})`,
    ],
    [of('requests') <= most, `requests (${of('requests')}) <= maxTurns x maxRetries (${most})`],
    [of('turns') <= (bound?.maxTurns ?? most), `turns (${of('turns')}) <= maxTurns (${bound?.maxTurns})`],
    [
      of('toolCalls.answered') <= of('toolCalls.requested'),
      `calls answered (${of('toolCalls.answered')}) <= calls requested (${of('toolCalls.requested')})`,
    ],
    [
      of('toolCalls.succeeded') + of('toolCalls.failed') <= of('toolCalls.executed'),
      'calls succeeded + calls failed <= calls executed',
    ],
  ];
  return promises.find(([holds]) => !holds)?.[1] ?? null;
}
