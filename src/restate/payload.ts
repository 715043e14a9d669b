import type { KeyedDelivery } from '../host/host.ts';

/** The most that Restate stores as one value, in MiB. Its limit is 32; a larger value is retried forever. */
const mostMebibytes = 30;

/** Says how much too large a value is for the engine; null if it can be stored. */
export function tooLarge(value: object): string | null {
  const mebibytes = Buffer.byteLength(JSON.stringify(value)) / 2 ** 20;
  if (mebibytes <= mostMebibytes) return null;
  return `has ${mebibytes.toFixed(1)} MiB; Restate stores at most ${mostMebibytes} MiB`;
}

/** Replaces an outcome that the engine cannot store, and would retry forever. */
export function storable(delivery: KeyedDelivery): KeyedDelivery {
  const why = tooLarge(delivery);
  if (why === null) return delivery;
  const { key, at } = delivery;
  return { key, at, defect: `the result ${why}` };
}
