/** The longest wait before a request, in ms (P-3). A target whose provider asks for more is skipped until then. */
export const longestWaitMs = 60_000;
const firstWaitMs = 500;

/**
 * Returns a wait in ms: exponential backoff with full jitter (P-3), from 0 to `500 ms x 2^(faults - 1)`, at most 60 s.
 * `faults` is the target's number of consecutive faults, including this one. `chance` is in [0, 1) and arrives with
 * the delivery, so a replay waits equally long.
 */
export function backoffMs(faults: number, chance: number): number {
  return Math.round(chance * Math.min(longestWaitMs, firstWaitMs * 2 ** Math.max(0, faults - 1)));
}
