import { describe, expect, it } from 'vitest';
import { files } from '../graph/trace.ts';

/** The names that a file declares at its top level, exported or not. */
function declared(text: string, what: 'function' | 'type'): { name: string; isExported: boolean }[] {
  const forms =
    what === 'function'
      ? /^(export )?(?:async )?(?:function\*? (\w+)|const (\w+) = (?:async )?(?:\([^\n]*\)|\w+)(?:: [^=\n]+)? =>)/gm
      : /^(export )?(?:abstract )?(?:class|type|interface) (\w+)/gm;
  return [...text.matchAll(forms)].map(([, exported, name, arrow]) => ({
    name: name ?? arrow ?? '',
    isExported: exported !== undefined,
  }));
}

/** Returns the names that one file exports and another declares too, with these files. */
function ambiguous(what: 'function' | 'type', isSame: (other: { isExported: boolean }) => boolean): string[] {
  const all = files('src').flatMap(({ path, text }) =>
    [...new Map(declared(text, what).map((one) => [one.name, one])).values()].map((one) => ({ path, ...one })),
  );
  return all
    .filter(({ path, name, isExported }) => {
      if (!isExported) return false;
      return all.some((other) => other.name === name && other.path !== path && isSame(other));
    })
    .map(({ path, name }) => `${name} (${path})`);
}

describe('one word means one thing in src/', () => {
  it('the name of an exported function is that of no other function', () => {
    expect(ambiguous('function', () => true)).toEqual([]);
  });

  it('the name of an exported type is that of no other exported type', () => {
    expect(ambiguous('type', ({ isExported }) => isExported)).toEqual([]);
  });
});
