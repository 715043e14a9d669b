import type { KeyedDelivery } from '../host/host.ts';

/** The most bytes that a server stores as one value by default, 32 MiB, less what is sent with it. */
export const mostStoredBytes = 30 * 2 ** 20;

/** Says how much larger a value is than the engine stores; null if it can be stored. A larger one is retried forever. */
export function tooLarge(value: object, mostBytes: number): string | null {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= mostBytes) return null;
  return `has ${bytes.toLocaleString('en')} bytes; Restate stores at most ${mostBytes.toLocaleString('en')} (\`maxValueBytes\`)`;
}

/** Replaces an outcome that the engine cannot store, and would retry forever. */
export function storable(delivery: KeyedDelivery, mostBytes: number): KeyedDelivery {
  const why = tooLarge(delivery, mostBytes);
  if (why === null) return delivery;
  const { key, at } = delivery;
  return { key, at, defect: `the result ${why}` };
}
