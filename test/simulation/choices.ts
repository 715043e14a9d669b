/** The most choices of a run; one with more counts as endless. */
const mostChoices = 20_000;

/**
 * What holds for a whole run. `swarm`: about half of all that may be picked by its weight never is, which half follows from
 * the number. `calmAfter`: after so many decisions everything goes the plainest way, so nothing goes wrong any more.
 */
export type Conditions = { swarm?: number; calmAfter?: number };

/**
 * Decides everything in a simulated run: by chance from a seed, or as an earlier run did. 0 is always the plainest way, so
 * a run with fewer and lower decisions is simpler.
 */
export class Choices {
  readonly made: number[] = [];
  readonly conditions: Conditions;
  /** Called once nothing goes wrong any more. */
  onCalm = () => {};
  private readonly next: (count: number) => number;

  private constructor(next: (count: number) => number, conditions: Conditions) {
    this.next = next;
    this.conditions = conditions;
  }

  static ofSeed(seed: number, conditions: Conditions = {}): Choices {
    const next = numbers(seed);
    return new Choices((count) => next() % count, conditions);
  }

  /** After the given decisions, everything goes the plainest way. */
  static of(decisions: readonly number[], conditions: Conditions = {}): Choices {
    let position = 0;
    const next = (count: number) => {
      const given = decisions[position] ?? 0;
      position += 1;
      return given % count;
    };
    return new Choices(next, conditions);
  }

  /** An integer from 0 to `count` - 1. */
  below(count: number): number {
    if (this.made.length >= mostChoices) throw new Error('the simulated run has no end');
    const { calmAfter = mostChoices } = this.conditions;
    if (this.made.length === calmAfter) this.onCalm();
    const decision = this.made.length >= calmAfter ? 0 : this.next(count);
    this.made.push(decision);
    return decision;
  }

  pick<Option>(options: readonly [Option, ...Option[]]): Option {
    return options[this.below(options.length)] ?? options[0];
  }

  /** Picks a name by its weight; the first is the plainest. */
  weighed<Name extends string>(weights: Record<Name, number>): Name {
    const named = (Object.entries<number>(weights) as [Name, number][]).filter(
      ([name], index) => index === 0 || !this.isOff(name),
    );
    let left = this.below(named.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [name, weight] of named) {
      if (left < weight) return name;
      left -= weight;
    }
    throw new Error('there is nothing to pick from');
  }

  private isOff(name: string): boolean {
    const { swarm } = this.conditions;
    if (swarm === undefined) return false;
    const ofName = [...name].reduce((sum, character) => Math.imul(sum, 31) + character.charCodeAt(0), swarm);
    return numbers(ofName)() % 2 === 1;
  }

  /** True in `percent` of a hundred cases. */
  chance(percent: number): boolean {
    return this.below(100) >= 100 - percent;
  }
}

/** The generator mulberry32: integers of 32 bits, the same for the same seed. */
function numbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}

/** Writes decisions as one word, which a test can hold. */
export function wordOf(decisions: readonly number[]): string {
  const last = decisions.findLastIndex((decision) => decision !== 0);
  return decisions
    .slice(0, last + 1)
    .map((decision) => decision.toString(36))
    .join('.');
}

export function decisionsIn(word: string): number[] {
  return word === '' ? [] : word.split('.').map((decision) => Number.parseInt(decision, 36));
}

/** The most runs by which decisions are shrunk. */
const mostTries = 600;

/** Returns fewer and lower decisions with which a run still fails. */
export async function shrunk(
  decisions: readonly number[],
  fails: (decisions: readonly number[]) => Promise<boolean>,
): Promise<number[]> {
  let best = [...decisions];
  let left = mostTries;
  const isBetter = async (candidate: number[]): Promise<boolean> => {
    if (left === 0) return false;
    left -= 1;
    if (!(await fails(candidate))) return false;
    best = candidate;
    return true;
  };
  for (let before = ''; before !== best.join() && left > 0; ) {
    before = best.join();
    for (let size = best.length >> 1; size > 0; size >>= 1) {
      for (let at = best.length - size; at >= 0; at -= size)
        await isBetter([...best.slice(0, at), ...best.slice(at + size)]);
    }
    for (let at = best.length - 1; at >= 0; at -= 1) {
      const value = best[at] ?? 0;
      for (const lower of [0, value >> 1, value - 1]) {
        if (lower >= 0 && lower < value && (await isBetter(best.with(at, lower)))) break;
      }
    }
  }
  return best;
}
