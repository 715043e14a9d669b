import { describe, expect, it } from 'vitest';
import { abstractions, abstractSteps } from '../graph/abstraction.ts';
import { walks, walksWithin } from '../graph/coverage.ts';
import { sessionWalk } from '../graph/levels/session.ts';
import { wholeWalks } from '../graph/levels/whole.ts';
import { exploreWhole, type Product } from '../graph/product.ts';

let explored: Product[] | null = null;

/** The walks, once for all tests. */
function products(): Product[] {
  explored ??= wholeWalks(process.env.PAWL_WALKS === 'all' ? 'all' : 'usual').map(exploreWhole);
  return explored;
}

/** Whether effects can settle without end: whether there is a cycle without commands. */
function isEndless({ states, edges }: Product): boolean {
  const settlings = edges.filter(({ isCommand }) => !isCommand);
  const next = Map.groupBy(settlings, ({ from }) => from);
  const into = new Map<number, number>();
  for (const { to } of settlings) into.set(to, (into.get(to) ?? 0) + 1);
  const sorted = Array.from({ length: states }, (_, index) => index + 1).filter((state) => !into.has(state));
  for (const state of sorted) {
    for (const { to } of next.get(state) ?? []) {
      const left = (into.get(to) ?? 0) - 1;
      into.set(to, left);
      if (left === 0) sorted.push(to);
    }
  }
  return sorted.length < states;
}

describe('B-1 B-2 B-4 B-5 B-7 C-1 D-2 P-2 P-3 S-3: all machines of a session together', () => {
  it('keep every promise in every state', () => {
    for (const { broken } of products()) expect(broken).toEqual([]);
  }, 180_000);

  it('end, if their effects settle: every state waits for an effect, and there is no cycle', () => {
    for (const product of products()) expect(isEndless(product)).toBe(false);
  });

  it.each(Object.keys(abstractions))(
    'take only steps of the %s that its own walks take',
    (machine) => {
      const name = machine === 'toolCall' ? 'tool-call' : machine;
      const abstraction = abstractions[machine];
      if (abstraction === undefined) throw new Error(`${machine} has no abstraction`);
      const usual = (process.env.PAWL_WALKS === 'all' ? walks : walksWithin('usual'))[name]?.walks ?? [];
      // `npm run verify` checks the promises of this one too.
      const walked = abstractSteps(
        abstraction,
        machine === 'session' ? [...usual, sessionWalk(3), sessionWalk(2, { compactsAt: 0.5 })] : usual,
      );
      const taken = new Set(products().flatMap(({ steps }) => [...(steps.get(machine) ?? [])]));
      expect(taken.size).toBeGreaterThan(0);
      expect([...taken].filter((step) => !walked.has(step))).toEqual([]);
    },
    180_000,
  );
});
