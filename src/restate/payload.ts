import type { KeyedDelivery } from '../host/host.ts';

/** The most that Restate stores as one value, in MiB. Its limit is 32; a larger value is retried forever. */
export const mostMebibytes = 30;

export function mebibytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '') / 2 ** 20;
}

/** Replaces an outcome that the engine cannot store, and would retry forever. */
export function storable(delivery: KeyedDelivery): KeyedDelivery {
  const size = mebibytesOf(delivery);
  if (size <= mostMebibytes) return delivery;
  const { key, at } = delivery;
  return { key, at, defect: `the result has ${size.toFixed(1)} MiB; Restate stores at most ${mostMebibytes} MiB` };
}
