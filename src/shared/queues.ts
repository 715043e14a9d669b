import { Slots } from './slots.ts';

/** The queues of this process, by name. */
const queues = new Map<string, Slots>();

/** Makes a queue in which so many calls run at once. One that is known keeps the smaller number. */
export function openQueue(name: string, count: number): void {
  const known = queues.get(name);
  if (known === undefined) queues.set(name, new Slots(count));
  else known.narrow(count);
}

/** Waits for a place in a queue (C-8), and returns what frees it. Rejects with the signal's reason. */
export async function placeIn(name: string, signal: AbortSignal): Promise<() => void> {
  return (await queues.get(name)?.takeSlot(signal)) ?? (() => undefined);
}
