import type { Fact } from '../../../machines/index.ts';
import { attemptName, turnName } from '../../../machines/index.ts';
import type { Row } from '../recorded/row-list.ts';
import type { ShownRecording } from '../recorded/shown-recording.ts';

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

/**
 * Compares two sessions by the keys of their effects, which count turns and attempts. Sub-agents are compared call by call,
 * because the steps of concurrent sub-agents may interleave in any order.
 */
export function compare(one: ShownRecording, other: ShownRecording): Comparison {
  const [facts, others] = [factsOf(one), factsOf(other)];
  const scopes = [...new Set([...facts.keys(), ...others.keys()])];
  const departures = scopes.map((scope) => departureOf(scope, facts.get(scope) ?? [], others.get(scope) ?? []));
  const [first = null] = departures
    .filter(({ left, right }) => left !== null || right !== null)
    .sort((early, late) => early.at - late.at);
  return {
    given: givenOf(one, other),
    same: departures.reduce((sum, { same }) => sum + same, 0),
    facts: [sizeOf(facts), sizeOf(others)],
    first:
      first === null
        ? null
        : {
            key: keyOf(first.scope, [first.left, first.right, first.before]),
            one: first.left?.fact ?? null,
            other: first.right?.fact ?? null,
          },
    attempts: aligned(one, other),
    counters: comparedCounters(one, other),
  };
}

/** A fact of a session or a sub-agent, with its position among all facts of the tree. */
type Placed = { fact: Fact; at: number };

/** Returns the first facts in which two sessions differ; both are null if the sessions are equal. */
function departureOf(scope: string, facts: readonly Placed[], others: readonly Placed[]) {
  let same = 0;
  while (same < Math.min(facts.length, others.length) && isEqual(facts[same]?.fact, others[same]?.fact)) same += 1;
  const [left = null, right = null, before = null] = [facts[same], others[same], facts[same - 1]];
  const at = Math.min(left?.at ?? Number.POSITIVE_INFINITY, right?.at ?? Number.POSITIVE_INFINITY);
  return { scope, same, left, right, before, at };
}

function givenOf(one: ShownRecording, other: ShownRecording): string[] {
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

/** The facts of a session and its sub-agents, by scope. */
function factsOf({ told }: ShownRecording): Map<string, Placed[]> {
  const found = new Map<string, Placed[]>();
  for (const [at, one] of told.entries()) {
    if (!('fact' in one)) continue;
    const own = found.get(one.scope) ?? [];
    own.push({ fact: one.fact, at });
    found.set(one.scope, own);
  }
  return found;
}

function sizeOf(facts: ReadonlyMap<string, readonly Placed[]>): number {
  return [...facts.values()].reduce((sum, { length }) => sum + length, 0);
}

/** Points in time differ between any two sessions. */
const times = new Set(['dueAt', 'retryAt']);

function isEqual(one: unknown, other: unknown): boolean {
  const plain = (value: unknown) => JSON.stringify(value, (name, inner) => (times.has(name) ? undefined : inner));
  return plain(one) === plain(other);
}

/** The attempt or turn of the first fact that has one. */
function keyOf(scope: string, facts: readonly (Placed | null)[]): string {
  for (const placed of facts) {
    if (placed === null || !('turn' in placed.fact)) continue;
    const { fact } = placed;
    return scopedKey(scope, 'attempt' in fact ? attemptName(fact) : turnName(fact.turn));
  }
  return scope === '' ? 'the session' : `the sub-agent ${scope}`;
}

/** Prefixes a key with the calls that lead to its sub-agent, as in the keys of effects. */
function scopedKey(scope: string, key: string): string {
  return scope === '' ? key : `${scope}/${key}`;
}

function aligned(one: ShownRecording, other: ShownRecording): Aligned[] {
  const [left, right] = [attemptsOf(one), attemptsOf(other)];
  return [...new Set([...left.keys(), ...right.keys()])]
    .map((key) => {
      const [mine, its] = [left.get(key) ?? null, right.get(key) ?? null];
      return { key, one: mine?.row ?? null, other: its?.row ?? null, isSame: isEqual(mine?.facts, its?.facts) };
    })
    .sort(byPlace);
}

function attemptsOf(recorded: ShownRecording): Map<string, { row: Row; facts: Fact[] }> {
  const found = new Map<string, { row: Row; facts: Fact[] }>();
  for (const row of recorded.rows.byId) {
    if (row.kind !== 'attempt') continue;
    const told = recorded.told.slice(row.told - 1, row.ended ?? undefined);
    const facts = told.flatMap((one) => (one.scope === row.scope && 'fact' in one ? [one.fact] : []));
    found.set(scopedKey(row.scope, attemptName(row)), { row, facts });
  }
  return found;
}

/** Compares by turn and attempt: first the attempts of the session, then those of each sub-agent. */
function byPlace(one: Aligned, other: Aligned): number {
  const place = ({ one: left, other: right }: Aligned) => {
    const { scope = '', turn = 0, attempt = 0 } = left ?? right ?? {};
    return { scope, turn: turn ?? 0, attempt: attempt ?? 0 };
  };
  const [early, late] = [place(one), place(other)];
  return early.scope.localeCompare(late.scope) || early.turn - late.turn || early.attempt - late.attempt;
}

function comparedCounters(one: ShownRecording, other: ShownRecording): Comparison['counters'] {
  const [left, right] = [one.countersAt(one.told.length), other.countersAt(other.told.length)];
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((path) => {
    const [mine, its] = [
      left.get(path) ?? (left.has(path) ? null : 0),
      right.get(path) ?? (right.has(path) ? null : 0),
    ];
    return mine === its ? [] : [{ path, one: mine, other: its }];
  });
}
