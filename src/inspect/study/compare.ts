import type { Fact } from '../../../machines/index.ts';
import type { Recorded } from '../recorded/recorded.ts';
import type { Row } from '../recorded/row-list.ts';

/** An attempt of two sessions, found by its key. */
export type Aligned = { key: string; one: Row | null; other: Row | null; isSame: boolean };

export type Comparison = {
  /** What the sessions were given, by name, as far as it differs: agent, prompt, machines, bound. */
  given: string[];
  /** How many facts are the same from the start. */
  same: number;
  facts: [number, number];
  /** The first fact in which they differ, with the attempt or turn that it belongs to; null if they are the same. */
  first: { key: string; one: Fact | null; other: Fact | null } | null;
  attempts: Aligned[];
  /** The numbers of their accounts that differ at the end. */
  counters: { path: string; one: number | null; other: number | null }[];
};

/** Compares two sessions by the keys of their effects, which count turns and attempts. Sub-agents are left out. */
export function compare(one: Recorded, other: Recorded): Comparison {
  const [facts, others] = [factsOf(one), factsOf(other)];
  let same = 0;
  while (same < Math.min(facts.length, others.length) && isEqual(facts[same], others[same])) same += 1;
  const [left = null, right = null] = [facts[same], others[same]];
  return {
    given: givenOf(one, other),
    same,
    facts: [facts.length, others.length],
    first:
      left === null && right === null
        ? null
        : { key: keyOf([left, right, facts[same - 1] ?? null]), one: left, other: right },
    attempts: aligned(one, other),
    counters: countersOf(one, other),
  };
}

function givenOf(one: Recorded, other: Recorded): string[] {
  const [left, right] = [one.heads.get(''), other.heads.get('')];
  const given = (head: typeof left) => ({
    agent: head?.agent,
    prompt: head?.prompt,
    messages: head?.messages,
    machines: head?.machines,
    bound: head?.input.bound,
  });
  const [mine, its] = [given(left), given(right)];
  return (['agent', 'prompt', 'messages', 'machines', 'bound'] as const).filter(
    (name) => !isEqual(mine[name], its[name]),
  );
}

function factsOf({ told }: Recorded): Fact[] {
  return told.flatMap((one) => (one.scope === '' && 'fact' in one ? [one.fact] : []));
}

/** Points in time differ between any two sessions. */
const times = new Set(['dueAt', 'retryAt']);

function isEqual(one: unknown, other: unknown): boolean {
  const plain = (value: unknown) => JSON.stringify(value, (name, inner) => (times.has(name) ? undefined : inner));
  return plain(one) === plain(other);
}

/** The attempt or turn of the first fact that has one. */
function keyOf(facts: readonly (Fact | null)[]): string {
  for (const fact of facts) {
    if (fact === null || !('turn' in fact)) continue;
    return 'attempt' in fact ? `turn-${fact.turn}/attempt-${fact.attempt}` : `turn-${fact.turn}`;
  }
  return 'the session';
}

function aligned(one: Recorded, other: Recorded): Aligned[] {
  const [left, right] = [attemptsOf(one), attemptsOf(other)];
  const keys = [...new Set([...left.keys(), ...right.keys()])].sort(byNumbers);
  return keys.map((key) => {
    const [mine, its] = [left.get(key) ?? null, right.get(key) ?? null];
    return { key, one: mine?.row ?? null, other: its?.row ?? null, isSame: isEqual(mine?.facts, its?.facts) };
  });
}

function attemptsOf(recorded: Recorded): Map<string, { row: Row; facts: Fact[] }> {
  const found = new Map<string, { row: Row; facts: Fact[] }>();
  for (const row of recorded.rows.byId) {
    if (row.kind !== 'attempt' || row.scope !== '') continue;
    const told = recorded.told.slice(row.told - 1, row.ended ?? undefined);
    const facts = told.flatMap((one) => (one.scope === '' && 'fact' in one ? [one.fact] : []));
    found.set(`turn-${row.turn}/attempt-${row.attempt}`, { row, facts });
  }
  return found;
}

function byNumbers(one: string, other: string): number {
  const numbers = (key: string) => [...key.matchAll(/\d+/g)].map(([digits]) => Number(digits));
  const [[turn = 0, attempt = 0], [otherTurn = 0, otherAttempt = 0]] = [numbers(one), numbers(other)];
  return turn - otherTurn || attempt - otherAttempt;
}

function countersOf(one: Recorded, other: Recorded): Comparison['counters'] {
  const [left, right] = [one.countersAt(one.told.length), other.countersAt(other.told.length)];
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((path) => {
    const [mine, its] = [
      left.get(path) ?? (left.has(path) ? null : 0),
      right.get(path) ?? (right.has(path) ? null : 0),
    ];
    return mine === its ? [] : [{ path, one: mine, other: its }];
  });
}
