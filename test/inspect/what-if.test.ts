import { tool } from 'ai';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Json } from '../../machines/index.ts';
import { defineAgent, PawlError, runSession } from '../../src/index.ts';
import { MicrostepReplay } from '../../src/inspect/recorded/microstep-replay.ts';
import { ShownRecording } from '../../src/inspect/recorded/shown-recording.ts';
import { compare } from '../../src/inspect/study/compare.ts';
import { presetsFor } from '../../src/inspect/study/presets.ts';
import { type DeliveryChange, ledTo, whatIf } from '../../src/inspect/study/what-if.ts';
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
  const part = new MicrostepReplay().play(JSON.parse(JSON.stringify(entries)));
  expect(part.difference).toBeNull();
  const facts = part.told.flatMap((one) => ('fact' in one ? [one.fact] : []));
  const last = facts.at(-1);
  return {
    types: facts.map(({ type }) => type),
    last: last?.type,
    slugs: last !== undefined && 'failure' in last ? last.failure.slugs : [],
  };
}

function recordedOf(given: readonly JournalEntry[]): ShownRecording {
  const recorded = new ShownRecording();
  recorded.takePart(new MicrostepReplay().play(JSON.parse(JSON.stringify(given))));
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

const changedTo = (entries: readonly JournalEntry[], entry: number, outcome: Json): DeliveryChange => {
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
    const { requests } = new MicrostepReplay().play(JSON.parse(JSON.stringify(other)));
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
      const { told } = new MicrostepReplay().play(JSON.parse(JSON.stringify(other)));
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

  it('a step is led to by the delivery before it, and the start by none', () => {
    const steps = entries.flatMap(({ type }, index) => (type === 'stepped' ? [index + 1] : []));
    const led = steps.map((step) => ledTo(entries, step));
    expect(led[0]).toBeNull();
    expect(led.slice(1).map((change) => change?.entry)).toEqual(deliveriesIn(entries, /./));
    for (const change of led.slice(1))
      expect(entries[(change?.entry ?? 0) - 1]).toMatchObject({ type: 'delivered', delivery: change?.delivery });
    const ofSubAgent = entries.map((entry) => ({ ...entry, scope: 'c1' }));
    expect([ledTo(ofSubAgent, steps[2] ?? 0), ledTo(entries, 99_999)]).toEqual([null, null]);
    // Sub-agents' deliveries lie between those of the session.
    const mixed = entries.flatMap((entry, index) => [entry, ofSubAgent[index] ?? entry]);
    expect(ledTo(mixed, (steps[3] ?? 0) * 2 - 1)?.delivery).toEqual(led[3]?.delivery);
  });

  it('with `stops`, nothing follows the change but its step', () => {
    const [, second = 0] = deliveriesIn(entries, /\/model$/);
    const { entries: other, pending } = whatIf(entries, changedTo(entries, second, auth), { stops: true });
    expect(other.slice(0, second - 1)).toEqual(entries.slice(0, second - 1));
    expect(other.slice(second - 1).map(({ type }) => type)).toEqual(['delivered', 'stepped']);
    expect(pending).toEqual(['close']);
  });

  it('a request that would have gone out offers the tools of the one that did', () => {
    const tools = deliveriesIn(entries, /tool-0$/);
    const failed = {
      slug: 'tool_exec_failed',
      result: { success: false, value: null, message: 'no' },
      output: { type: 'error-text', value: 'no' },
      kept: null,
      tokens: 1,
      spent: { requests: 0, tokens: 0, costUsd: 0 },
    };
    const { entries: other } = whatIf(entries, changedTo(entries, tools[0] ?? 0, failed));
    const sent = (of: readonly JournalEntry[]) => of.filter((entry) => entry.type === 'sent');
    const known = (of: readonly JournalEntry[]) => of.filter((entry) => entry.type === 'offered');
    expect(sent(other).map(({ turn, attempt, tools: list, messages }) => [turn, attempt, list, messages])).toEqual(
      sent(entries).map(({ turn, attempt, tools: list, messages }) => [turn, attempt, list, messages]),
    );
    expect(sent(other).map(({ provider }) => provider === 'what if')).toEqual([false, false, true, true, true]);
    expect(known(other)).toEqual(known(entries));
  });

  it('a call is answered by the recorded result only if it has the same name', () => {
    const [, second = 0] = deliveriesIn(entries, /\/model$/);
    const recorded = entries[second - 1];
    if (recorded?.type !== 'delivered' || !('outcome' in recorded.delivery)) throw new Error('no delivery');
    const renamed = JSON.parse(JSON.stringify(recorded.delivery.outcome).replaceAll('"work"', '"other"'));
    expect(whatIf(entries, changedTo(entries, second, renamed)).pending).toEqual(['turn-1/attempt-2/tool-0']);
  });
});
