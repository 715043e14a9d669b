import { join } from 'node:path';
import { expect } from 'vitest';

/**
 * Compares what a rule says of each case with a golden file, a paragraph a case. A change of any word is seen there, and is
 * taken over by `vitest -u` once somebody has read it.
 */
export async function expectGolden(file: string, cases: Record<string, unknown>): Promise<void> {
  const text = Object.entries(cases)
    .map(([name, value]) => `${name}\n  ${shown(value)}\n`)
    .join('\n');
  await expect(text).toMatchFileSnapshot(join(process.cwd(), 'test/machines/golden', file));
}

/** `undefined` is told from what is not there. */
function shown(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (inner === undefined ? '(undefined)' : inner)) ?? '(undefined)';
}
