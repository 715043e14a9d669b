import { join } from 'node:path';
import { expect } from 'vitest';

/**
 * Compares what a rule says of each case with a golden file, a paragraph a case. A change of any word is seen there, and is
 * taken over by `vitest -u` once somebody has read it.
 */
export async function expectGolden(file: string, cases: Record<string, unknown>): Promise<void> {
  const text = Object.entries(cases)
    .map(([name, value]) => `${name}\n  ${linesOf(value).map(shown).join('\n  ')}\n`)
    .join('\n');
  await expect(text).toMatchFileSnapshot(join(process.cwd(), 'test/machines/golden', file));
}

const linesOf = (value: unknown): unknown[] => (Array.isArray(value) && value.length > 0 ? value : [value]);

/** `undefined` is told from what is not there, and numbers that JSON does not have from null. */
function shown(value: unknown): string {
  const told = (inner: unknown) => inner === undefined || (typeof inner === 'number' && !Number.isFinite(inner));
  return JSON.stringify(value, (_, inner) => (told(inner) ? `(${inner})` : inner)) ?? '(undefined)';
}
