/** The longest wait before a request, in ms (P-3). A target whose provider asks for more is skipped until then. */
export const longestWaitMs = 60_000;
const firstWaitMs = 1_000;

/**
 * Returns a wait in ms: exponential backoff with equal jitter (P-3). A fixed
 * `1 s x 2^(faults - 1)` plus a random amount up to the same again; at most 60 s. Two consecutive waits outlast a 3 s
 * outage. `faults` is the target's number of consecutive faults, including this one. `chance` is in [0, 1) and arrives
 * with the delivery, so a replay waits equally long.
 */
export function backoffMs(faults: number, chance: number): number {
  const half = Math.min(longestWaitMs / 2, firstWaitMs * 2 ** Math.max(0, faults - 1));
  return Math.round(half + half * chance);
}
