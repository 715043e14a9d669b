import { describe, expect, it, vi } from 'vitest';
import {
  defineAgent,
  type Journal,
  type JournalEntry,
  replaySession,
  resumeSession,
  runSession,
  type SessionEvent,
  startSession,
} from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { journalWith } from '../support/dying-journal.ts';
import { holding, quiet, until, workingAgent } from '../support/journaled.ts';
import { counters, report, reportedAtOnce } from '../support/session.ts';

/** A journal that holds the first entries of another. */
async function withFirst(entries: readonly JournalEntry[]): Promise<Journal> {
  const journal = new MemoryJournal();
  const session = { sessionId: 's', agent: 'plain', metadata: {} };
  await journal.create(session, { owner: 'first', entries: [...entries] });
  await journal.release('s', 'first');
  return journal;
}

describe('D-3, D-4: the life of a session that is resumed', () => {
  it('renews its lease, as that of a session that begins', async () => {
    const renewed: string[] = [];
    const memory = new MemoryJournal({ leaseMs: 60 });
    const journal = journalWith(memory, {
      renew: (sessionId, owner) => {
        renewed.push(owner);
        return memory.renew(sessionId, owner);
      },
    });
    const agent = defineAgent({ name: 'waiting', models: [rehearsalModel([{ hangs: true }])] });
    const session = startSession(agent, { prompt: 'Go.', ...quiet(journal) });
    await until(() => session.counters.requests === 1);
    await session.suspend({ graceMs: 0 });
    const again = await resumeSession(agent, quiet(journal));
    renewed.length = 0;
    await until(() => renewed.length >= 3);
    expect(new Set(renewed).size).toBe(1);
    again.abort();
    await again.result;
  });

  it('names what was interrupted, by its key', async () => {
    const journal = new MemoryJournal();
    const { agent, held } = holding();
    const session = startSession(agent, { prompt: 'Go.', ...quiet(journal) });
    await until(() => held.runs === 1);
    await session.suspend({ graceMs: 0 });
    const told: SessionEvent[] = [];
    const onEvent = (event: SessionEvent) => void told.push(event);
    const resumed = await resumeSession(holding().agent, { ...quiet(journal), onEvent });
    expect((await resumed.result).success).toBe(true);
    expect(told[0]).toMatchObject({ type: 'session.resumed', interrupted: ['turn-1/attempt-1/tool-0'] });
  });

  it('tells what its last step brings, if that was delivered and not taken', async () => {
    const agent = defineAgent({ name: 'plain', models: [rehearsalModel([report()])] });
    const whole = new MemoryJournal();
    const events: SessionEvent[] = [];
    const first = await runSession(agent, {
      prompt: 'Go.',
      ...quiet(whole),
      onEvent: (event) => void events.push(event),
    });
    const entries = await whole.read('s');
    const last = entries.findLastIndex(({ type }) => type === 'delivered');
    const told: SessionEvent[] = [];
    const journal = await withFirst(entries.slice(0, last + 1));
    const asked = vi.spyOn(journal, 'inbox');
    const onEvent = (event: SessionEvent) => void told.push(event);
    const session = await resumeSession(agent, { ...quiet(journal), onEvent });
    expect(asked).not.toHaveBeenCalled();
    const result = await session.result;
    expect(result.success).toBe(true);
    expect(result.counters).toEqual(counters({ ...reportedAtOnce, tokens: first.counters.tokens }));
    expect(told.map(({ type }) => type)).toEqual(['session.succeeded']);
    expect(events.at(-1)?.type).toBe('session.succeeded');
  });

  it('reports a listener that fails on what its last step brings', async () => {
    const agent = defineAgent({ name: 'plain', models: [rehearsalModel([report()])] });
    const whole = new MemoryJournal();
    const first = await runSession(agent, { prompt: 'Go.', ...quiet(whole) });
    const entries = await whole.read('s');
    const journal = await withFirst(entries.slice(0, entries.findLastIndex(({ type }) => type === 'delivered') + 1));
    const told: string[] = [];
    const onEvent = ({ type }: SessionEvent) => {
      told.push(type);
      if (type === 'session.succeeded') throw new Error('The page is gone.');
    };
    const result = await (await resumeSession(agent, { ...quiet(journal), onEvent })).result;
    expect(told).toEqual(['session.succeeded', 'observer.failed']);
    expect(result.counters).toEqual(counters({ ...reportedAtOnce, tokens: first.counters.tokens }));
  });
});

it('D-6: a replay that stops at a request that was not written down shows no other', async () => {
  const helper = defineAgent({ name: 'helper', description: 'Helps.', models: [rehearsalModel([report()])] });
  const asked = { calls: [{ name: 'helper', input: { prompt: 'Help.', reason: 'Two see more.' } }] };
  const agent = () => defineAgent({ name: 'plain', models: [rehearsalModel([asked, report()])], agents: { helper } });
  const whole = new MemoryJournal();
  await runSession(agent(), { prompt: 'Go.', ...quiet(whole) });
  const entries = await whole.read('s');
  const asks = entries.findIndex((entry) => entry.type === 'begun' && entry.key === 'turn-1/attempt-1/model');
  // The process died before the first request was written down; the next attempt asks the helper.
  const journal = await withFirst(entries.slice(0, asks + 1));
  const result = await (await resumeSession(agent(), quiet(journal))).result;
  assertInvariants(result);
  expect(result.success).toBe(true);
  const { requests, pending } = await replaySession(journal, 's', { until: 'turn-1/attempt-1' });
  expect([requests, pending]).toEqual([[], ['turn-1/attempt-1/model']]);
  const next = await replaySession(journal, 's', { until: 'turn-1/attempt-2' });
  expect(next.requests.map(({ turn, attempt }) => [turn, attempt])).toEqual([[1, 2]]);
});

it('D-3: only a session with a journal of its own can be suspended', async () => {
  const { agent } = workingAgent();
  const session = startSession(agent, { prompt: 'Go.', logger: false });
  await expect(session.suspend()).rejects.toMatchObject({
    code: 'invalid_options',
    message: 'Only a session with a `journal` can be suspended; abort this one.',
  });
  expect((await session.result).success).toBe(true);
});
