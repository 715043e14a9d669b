import { tool } from 'ai';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Json } from '../../machines/index.ts';
import { defineAgent, PawlError, runSession } from '../../src/index.ts';
import { Recorded } from '../../src/inspect/recorded/recorded.ts';
import { Replayer } from '../../src/inspect/recorded/replayer.ts';
import { compare } from '../../src/inspect/study/compare.ts';
import { presetsFor } from '../../src/inspect/study/presets.ts';
import { type Change, whatIf } from '../../src/inspect/study/what-if.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

const work = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => `found ${q}` });
const replies: RehearsedReply[] = [
  {},
  { calls: [{ name: 'work', input: { q: 'one' } }] },
  { text: 'only text' },
  { calls: [{ name: 'work', input: { q: 'two' } }] },
  report(),
];

async function entriesOf(given: readonly RehearsedReply[]): Promise<JournalEntry[]> {
  const journal = new MemoryJournal();
  const models = [rehearsalModel([...given])];
  const agent = defineAgent({ name: 'asked', models, tools: { work }, limits: { maxTurns: 4, maxRetries: 3 } });
  await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
  return journal.read('s');
}

/** The course of a session: its own facts, without their contents, and the slugs of its end. */
function endingOf(entries: readonly JournalEntry[]) {
  const part = new Replayer().play(JSON.parse(JSON.stringify(entries)));
  expect(part.difference).toBeNull();
  const facts = part.told.flatMap((one) => ('fact' in one ? [one.fact] : []));
  const last = facts.at(-1);
  return {
    types: facts.map(({ type }) => type),
    last: last?.type,
    slugs: last !== undefined && 'failure' in last ? last.failure.slugs : [],
  };
}

function recordedOf(given: readonly JournalEntry[]): Recorded {
  const recorded = new Recorded();
  recorded.take(new Replayer().play(JSON.parse(JSON.stringify(given))));
  return recorded;
}

const auth = {
  reply: null,
  fault: { kind: 'auth', message: 'no such key', status: 401, retryAfterMs: null },
  calls: [],
  textReport: null,
  usage: { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 },
  costUsd: null,
  measured: null,
} satisfies Json;

const deliveriesIn = (entries: readonly JournalEntry[], key: RegExp) =>
  entries.flatMap((entry, index) =>
    entry.type === 'delivered' && 'key' in entry.delivery && key.test(entry.delivery.key) ? [index + 1] : [],
  );

const changedTo = (entries: readonly JournalEntry[], entry: number, outcome: Json): Change => {
  const recorded = entries[entry - 1];
  if (recorded?.type !== 'delivered' || !('outcome' in recorded.delivery)) throw new Error('no delivery');
  return { entry, delivery: { ...recorded.delivery, outcome } };
};

describe('S-8 D-3: what the machines would have decided', () => {
  let entries: JournalEntry[];
  beforeAll(async () => {
    entries = await entriesOf(replies);
  });

  it('the same delivery leads to the same session', () => {
    for (const entry of deliveriesIn(entries, /./)) {
      const recorded = entries[entry - 1];
      if (recorded?.type !== 'delivered') continue;
      const same = whatIf(entries, { entry, delivery: recorded.delivery });
      expect(endingOf(same.entries)).toEqual(endingOf(entries));
      expect(same.pending).toEqual([]);
    }
  });

  it('a fault in place of each reply ends as a session with that fault does', async () => {
    const requests = deliveriesIn(entries, /\/model$/);
    expect(requests).toHaveLength(5);
    for (const [number, entry] of requests.entries()) {
      const { entries: other, pending } = whatIf(entries, changedTo(entries, entry, auth));
      const error = Object.assign(new Error('no such key'), { statusCode: 401 });
      const real = await entriesOf([...replies.slice(0, number), { throws: error }, ...replies.slice(number + 1)]);
      expect(endingOf(other)).toEqual(endingOf(real));
      expect(endingOf(other)).toMatchObject({ last: 'session.failed', slugs: ['no_targets', 'provider_auth'] });
      expect(pending).toEqual([]);
    }
  });

  it('a wait ends when due, and effects with no recorded result are listed as pending', () => {
    const [, second = 0] = deliveriesIn(entries, /\/model$/);
    const busy = { ...auth, fault: { ...auth.fault, kind: 'server', status: 503 } };
    const { entries: other, pending } = whatIf(entries, changedTo(entries, second, busy));
    expect(endingOf(other).types).toContain('wait.ended');
    expect(pending).toEqual(['turn-1/attempt-3/model']);
    const { requests } = new Replayer().play(JSON.parse(JSON.stringify(other)));
    const times = other.flatMap((entry) => (entry.type === 'delivered' ? [entry.delivery.at] : []));
    expect(times).toEqual(times.toSorted((one, later) => one - later));
    expect(requests.map(({ turn, attempt }) => `${turn}/${attempt}`)).toEqual(['1/1', '1/2', '1/3']);
  });

  it('an abort at any delivery ends the session there, with every call answered', () => {
    for (const entry of deliveriesIn(entries, /./).slice(0, -1)) {
      const recorded = entries[entry - 1];
      if (recorded?.type !== 'delivered') continue;
      const event = { type: 'session.abort' as const, reason: 'what if' };
      const { entries: other } = whatIf(entries, { entry, delivery: { at: recorded.delivery.at, event } });
      const { told } = new Replayer().play(JSON.parse(JSON.stringify(other)));
      const types = told.flatMap((one) => ('fact' in one ? [one.fact.type] : []));
      expect(types.at(-1)).toBe('session.aborted');
      expect(types.filter((type) => type === 'tool.answered')).toHaveLength(
        types.filter((type) => type === 'tool.requested').length,
      );
    }
  });

  it('the first difference is where the change was, for whatever is changed', () => {
    const happened = recordedOf(entries);
    const changes = deliveriesIn(entries, /./).flatMap((entry) => {
      const one = entries[entry - 1];
      return one?.type === 'delivered'
        ? presetsFor(one.delivery).map(({ name, delivery }) => ({ entry, name, delivery }))
        : [];
    });
    expect(changes.length).toBeGreaterThan(50);
    let parted = 0;
    for (const { entry, name, delivery } of changes) {
      const other = recordedOf(whatIf(entries, { entry, delivery }).entries);
      const { first, same } = compare(happened, other);
      // What was recorded may have been an empty reply, too, and a stop after the end changes nothing.
      if (first === null) {
        expect(name).toMatch(/an empty reply|here/);
        continue;
      }
      parted += 1;
      const before = happened.told.filter((one) => 'fact' in one && one.entry < entry).length;
      expect([entry, name, same >= before]).toEqual([entry, name, true]);
      expect(other.difference).toBeNull();
    }
    expect(parted).toBeGreaterThan(changes.length - 10);
  });

  it('only a delivery to the session can be changed', () => {
    const delivery = { at: 1, event: { type: 'session.stop' as const } };
    expect(() => whatIf(entries, { entry: 1, delivery })).toThrow(PawlError);
    expect(() => whatIf(entries, { entry: 99_999, delivery })).toThrow('the number of a delivery to the session');
  });
});
