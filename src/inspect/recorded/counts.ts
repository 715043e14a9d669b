import type { Counters } from '../../../machines/index.ts';
import { firstOnes } from '../../platform/search.ts';

/** The numbers of an account by their paths, such as `toolCalls.answered`. */
export type CounterValues = Map<string, number | null>;

/** A number of a session's account that changed: with the fact or sighting of this number, from 1. */
export type CounterChange = { scope: string; told: number; path: string; value: number | null };

/** Returns the numbers of a session's counters by their paths. */
export function counterValues(counters: Counters): CounterValues {
  const found: CounterValues = new Map();
  const walk = (value: unknown, path: string) => {
    if (typeof value === 'number' || value === null) found.set(path, value);
    else if (typeof value === 'object')
      for (const [name, inner] of Object.entries(value)) walk(inner, path === '' ? name : `${path}.${name}`);
  };
  walk(counters, '');
  return found;
}

/** The number of changes between two marks. A seek starts at the nearest mark. */
const markEvery = 256;

/** A session's account over time: what it was after any fact. */
export class CountLog {
  private readonly changes: CounterChange[] = [];
  private readonly marks: CounterValues[] = [new Map()];
  private readonly last: CounterValues = new Map();

  takeChange(change: CounterChange): void {
    this.changes.push(change);
    this.last.set(change.path, change.value);
    if (this.changes.length % markEvery === 0) this.marks.push(new Map(this.last));
  }

  /** Returns the numbers after the first `told` facts and sightings. */
  at(told: number): CounterValues {
    const taken = firstOnes(this.changes, (change) => change.told <= told);
    const mark = Math.floor(taken / markEvery);
    const found = new Map(this.marks[mark]);
    for (const { path, value } of this.changes.slice(mark * markEvery, taken)) found.set(path, value);
    return found;
  }

  /** Returns every value that a number had, with the fact that gave it. */
  of(path: string): { told: number; value: number | null }[] {
    return this.changes.flatMap((change) => (change.path === path ? [{ told: change.told, value: change.value }] : []));
  }
}
