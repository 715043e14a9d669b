import { backoffMs, longestWaitMs } from './backoff.ts';
import type { Fault } from './faults.ts';

/** What the session knows of one target: a provider and model, tried in the order given (P-2, P-3). */
export type TargetState = {
  name: string;
  /** `out`: taken out for the rest of the session. */
  status: 'living' | 'out';
  /** Epoch ms before which no request goes to it; 0 when it is free. */
  limitedUntil: number;
  /** Consecutive faults that call for backoff. */
  faults: number;
};

/** Where the next request goes: at once, after a wait, or nowhere. `target` is an index; `dueAt` epoch ms. */
export type TargetChoice =
  | { kind: 'free'; target: number }
  | { kind: 'wait'; target: number; dueAt: number }
  | { kind: 'beyond'; dueAt: number }
  | { kind: 'none' };

export function freshTargets(names: readonly string[]): TargetState[] {
  return names.map((name) => ({ name, status: 'living', limitedUntil: 0, faults: 0 }));
}

/**
 * The first living target from `from` on, wrapping round, that is free at `at` (P-2). With all of them limited: the
 * earliest to be free, the first in order on a tie (P-3); `beyond` when even that is more than 60 s away.
 */
export function chooseTarget(targets: readonly TargetState[], from: number, at: number): TargetChoice {
  let earliest: { target: number; dueAt: number } | null = null;
  for (let step = 0; step < targets.length; step += 1) {
    const target = (from + step) % targets.length;
    const state = targets[target];
    if (state === undefined || state.status === 'out') continue;
    if (state.limitedUntil <= at) return { kind: 'free', target };
    if (earliest === null || state.limitedUntil < earliest.dueAt) earliest = { target, dueAt: state.limitedUntil };
  }
  if (earliest === null) return { kind: 'none' };
  if (earliest.dueAt - at > longestWaitMs) return { kind: 'beyond', dueAt: earliest.dueAt };
  return { kind: 'wait', ...earliest };
}

/** The targets after a reply of `target` that came through: its count of faults starts anew. */
export function afterReply(targets: readonly TargetState[], target: number): TargetState[] {
  return replaced(targets, target, (state) => ({ ...state, limitedUntil: 0, faults: 0 }));
}

/**
 * The targets after a fault (P-2, P-3): `auth`, `quota` and `invalid_request` take the target out for the session;
 * the faults that pass limit it, for as long as the provider asked or by backoff; a content filter does neither.
 */
export function afterFault(
  targets: readonly TargetState[],
  target: number,
  fault: Fault,
  at: number,
  chance: number,
): TargetState[] {
  switch (fault.kind) {
    case 'auth':
    case 'quota':
    case 'invalid_request':
      return replaced(targets, target, (state) => ({ ...state, status: 'out' }));
    case 'rate_limited':
    case 'server':
    case 'network':
    case 'timeout':
      return replaced(targets, target, (state) => {
        const faults = state.faults + 1;
        return { ...state, faults, limitedUntil: at + (fault.retryAfterMs ?? backoffMs(faults, chance)) };
      });
    case 'content_filter':
      return [...targets];
    default:
      return fault.kind satisfies never;
  }
}

function replaced(
  targets: readonly TargetState[],
  target: number,
  change: (state: TargetState) => TargetState,
): TargetState[] {
  return targets.map((state, index) => (index === target ? change(state) : state));
}
