import { backoffMs, longestWaitMs } from './backoff.ts';
import { learntWindow } from './context.ts';
import type { Fault } from './faults.ts';

/** A session's state for one target, a provider and model. Targets are tried in the given order (P-2, P-3). */
export type TargetState = {
  name: string;
  /** `out`: excluded for the rest of the session. */
  status: 'living' | 'out';
  /** The target gets no request before this time (epoch ms); 0 when it is free. */
  limitedUntil: number;
  /** Consecutive faults that call for backoff. */
  faults: number;
  /** The size of its context window, as given or as learnt from what it refused; null if it is not known (T-6). */
  windowTokens: number | null;
  /** A piece that it refused has been replaced: the next refusal excludes it. */
  mended: boolean;
};

/** The next request's target, if any, now or after a wait. `target` is an index; `dueAt` is epoch ms. */
export type TargetChoice =
  | { kind: 'free'; target: number }
  | { kind: 'wait'; target: number; dueAt: number }
  | { kind: 'beyond'; dueAt: number }
  | { kind: 'none' };

/** Returns the targets as a session begins; `windows` are their own context windows, by name, and `window` that of others. */
export function freshTargets(
  names: readonly string[],
  window: number | null = null,
  windows: Readonly<Record<string, number>> = {},
): TargetState[] {
  return names.map((name) => {
    const windowTokens = windows[name] ?? window;
    return { name, status: 'living', limitedUntil: 0, faults: 0, windowTokens, mended: false };
  });
}

/** Returns all targets in order, by index, from `first` on and wrapping around (P-2). */
export function orderFrom(targets: readonly TargetState[], first: number): number[] {
  return targets.map((_, step) => (first + step) % targets.length);
}

/**
 * Returns the first living target of `order` that is free at `at`, from its position `from` on and wrapping around
 * (P-2), among those that `fits` permits. If all are limited, it returns the one that is free earliest, the first in order
 * on a tie (P-3). `beyond` means that even that one is more than 60 s away, or not free before `deadlineAt`.
 */
export function chooseTarget(
  targets: readonly TargetState[],
  order: readonly number[],
  from: number,
  at: number,
  { fits = () => true, deadlineAt = null }: { fits?: (state: TargetState) => boolean; deadlineAt?: number | null } = {},
): TargetChoice {
  let earliest: { target: number; dueAt: number } | null = null;
  for (let step = 0; step < order.length; step += 1) {
    const target = order[(from + step) % order.length] ?? 0;
    const state = targets[target];
    if (state === undefined || state.status === 'out' || !fits(state)) continue;
    if (state.limitedUntil <= at) return { kind: 'free', target };
    if (earliest === null || state.limitedUntil < earliest.dueAt) earliest = { target, dueAt: state.limitedUntil };
  }
  if (earliest === null) return { kind: 'none' };
  const latest = Math.min(at + longestWaitMs, deadlineAt ?? Number.POSITIVE_INFINITY);
  if (earliest.dueAt > latest) return { kind: 'beyond', dueAt: earliest.dueAt };
  return { kind: 'wait', ...earliest };
}

/** Returns the targets after `target` replied, which resets its fault count. */
export function afterReply(targets: readonly TargetState[], target: number): TargetState[] {
  return replaced(targets, target, (state) => ({ ...state, limitedUntil: 0, faults: 0 }));
}

/**
 * Returns the targets after a fault of a request of `tokens` (P-2, P-3). `auth`, `quota`, `invalid_request` and
 * `unavailable` exclude the target for the session, but the first invalid request whose piece can be replaced does not.
 * From a request that was too long, the target's window is learnt. Transient faults limit it for the provider's retry delay, or a backoff if none. A content filter, a
 * call that the provider could not read, an interruption and a reply that is withheld do neither.
 */
export function afterFault(
  targets: readonly TargetState[],
  target: number,
  fault: Fault,
  at: number,
  chance: number,
  tokens = 0,
): TargetState[] {
  switch (fault.kind) {
    case 'invalid_request':
      return replaced(targets, target, (state) =>
        fault.piece === undefined || state.mended ? { ...state, status: 'out' } : { ...state, mended: true },
      );
    case 'context_length': {
      const { tooLong = { limit: null, asked: null } } = fault;
      return replaced(targets, target, (state) => {
        return { ...state, windowTokens: learntWindow(state.windowTokens, tokens, tooLong) };
      });
    }
    case 'auth':
    case 'quota':
    case 'unavailable':
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
    case 'malformed_call':
    case 'interrupted':
    case 'denied':
    case 'unchecked':
      return [...targets];
    default:
      return fault.kind satisfies never;
  }
}

/** Returns the targets without those at `indices`, which cannot be had at all (P-2). */
export function withoutUnavailable(targets: readonly TargetState[], indices: readonly number[]): TargetState[] {
  return targets.map((state, index) => (indices.includes(index) ? { ...state, status: 'out' } : state));
}

/** Returns the largest context window of the living targets, in tokens; null if that of one is not known. */
export function largestWindow(targets: readonly TargetState[]): number | null {
  const windows = targets.flatMap(({ status, windowTokens }) => (status === 'living' ? [windowTokens] : []));
  return windows.length === 0 || windows.includes(null) ? null : Math.max(...windows.map((window) => window ?? 0));
}

function replaced(
  targets: readonly TargetState[],
  target: number,
  change: (state: TargetState) => TargetState,
): TargetState[] {
  return targets.map((state, index) => (index === target ? change(state) : state));
}
