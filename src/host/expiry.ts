/**
 * When something expires, in ms by the clock of the system and by one that is never set. Others count by the former, which
 * may be set forward; the latter may stand still while the machine sleeps.
 */
export type Expiry = { wall: number; steady: number };

export function expiryIn(ms: number): Expiry {
  return { wall: Date.now() + ms, steady: performance.now() + ms };
}

/** Returns how long it surely lasts, in ms; 0 or less if it may have expired. */
export function leftUntil({ wall, steady }: Expiry): number {
  return Math.min(wall - Date.now(), steady - performance.now());
}
