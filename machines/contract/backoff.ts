/** The longest wait before a request, in ms (P-3). A provider that asks for more is left alone until then. */
export const longestWaitMs = 60_000;
const firstWaitMs = 500;

/**
 * Exponential backoff with full jitter (P-3): between 0 and `500 ms x 2^(faults - 1)`, at most 60 s.
 * `faults` counts the consecutive faults of one target, this one included; `chance` is in [0, 1) and comes in with
 * the delivery, so that a replay waits as long.
 */
export function backoffMs(faults: number, chance: number): number {
  return Math.round(chance * Math.min(longestWaitMs, firstWaitMs * 2 ** Math.max(0, faults - 1)));
}
