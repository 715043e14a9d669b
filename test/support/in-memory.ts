import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** Expects that the memory keeps none of these but the last, which the code that awaited it may still refer to. */
export async function expectForgotten(kept: readonly WeakRef<object>[]): Promise<void> {
  const inMemory = () => {
    collect();
    return kept.filter((one) => one.deref() !== undefined).length;
  };
  await expect.poll(inMemory).toBeLessThanOrEqual(1);
}
