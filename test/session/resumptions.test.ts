import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  forkSession,
  type Journal,
  type JournalEntry,
  PawlError,
  readSession,
  replaySession,
  resumeSession,
  runSession,
  type SessionEvent,
  sqliteJournal,
} from '../../src/index.ts';
import { type LifeParts, SessionLife } from '../../src/session/recovery/life.ts';
import { tellWhatWaits } from '../../src/session/recovery/resume-session.ts';
import { Recording } from '../../src/session/replay/recording.ts';
import { entriesUntil, replayEntries } from '../../src/session/replay/replay-session.ts';
import { askingAgent } from '../support/asking-agent.ts';
import { journalWith } from '../support/dying-journal.ts';
import { quiet, workingAgent } from '../support/journaled.ts';
import { event, named } from '../support/ui-events.ts';
import { waitingCalls } from '../support/waiting-calls.ts';

/** A session whose sub-agent takes two turns, and all that its journal holds in the end. */
const { agent: helper } = workingAgent({ name: 'helping' });
const above = askingAgent('helper', helper);
const journal = sqliteJournal(':memory:');
let entries: readonly JournalEntry[];
afterAll(() => journal.close());
beforeAll(async () => {
  expect((await runSession(above, { prompt: 'Go.', ...quiet(journal) })).status).toBe('succeeded');
  entries = await journal.read('s');
});

/** The entries up to the first that `is` true of, with that one. */
const upTo = (is: (entry: JournalEntry) => boolean) => entries.slice(0, entries.findIndex(is) + 1);
const holding = (held: readonly JournalEntry[], over: Partial<Journal> = {}) =>
  journalWith(journal, { read: async () => [...held], ...over });
const subEnded = (entry: JournalEntry) =>
  entry.type === 'stepped' && entry.scope !== '' && entry.facts.some(({ type }) => type === 'session.succeeded');

describe('D-3: a recorded session that is played', () => {
  it('tells each entry, and each thing that its machines did, with its session and its time', () => {
    const inspected = new Set<string>();
    const facts: [string, string, number][] = [];
    const sighted: [string, string, number][] = [];
    const seen: number[] = [];
    const recording = new Recording([], {
      inspect: (scope) => void inspected.add(scope),
      fact: (scope, { type }, at) => void facts.push([scope, type, at]),
      sighting: (scope, { type }, at) => void sighted.push([scope, type, at]),
    });
    recording.play(entries, () => void seen.push(recording.entry));
    const { events, difference } = recording.played();
    expect(difference).toBeNull();
    expect(seen).toEqual(entries.map((_, index) => index + 1));
    expect(inspected.size).toBe(2);
    expect(new Set(facts.map(([scope]) => scope))).toEqual(inspected);
    expect(facts.filter(([scope]) => scope === '').map(([, type]) => type)).toEqual(
      events
        .filter(({ type, path }) => path.length === 0 && facts.some(([, known]) => known === type))
        .map(({ type }) => type),
    );
    expect(sighted.filter(([scope, type]) => scope === '' && type !== 'model.delta').map(([, type]) => type)).toEqual([
      'subAgent.started',
      'subAgent.ended',
    ]);
    expect(facts.every(([, , at]) => at > 1e12) && sighted.every(([, , at]) => at > 1e12)).toBe(true);
    const positions = events.map(({ seq }) => seq);
    expect(positions).toEqual(positions.toSorted((one, other) => one - other));
    expect(new Set(positions).size).toBe(positions.length);
    expect(events.filter(({ path }) => path.length > 0).every(({ path }) => path[0] === 'helper')).toBe(true);
  });

  it('is the one that ran, request by request', async () => {
    const { requests, steps, states, pending, counters, events } = replayEntries(entries);
    expect(
      requests.map(({ sessionId, turn, attempt, notice, omitted, tools }) => [
        sessionId === 's',
        turn,
        attempt,
        notice,
        omitted,
        tools.length > 0,
      ]),
    ).toEqual([
      [true, 1, 1, null, [], true],
      [false, 1, 1, null, [], true],
      [false, 2, 1, null, [], true],
      [true, 2, 1, null, [], true],
    ]);
    expect(steps.filter(({ cause }) => cause === 'start')).toHaveLength(2);
    expect(steps.every(({ cause, entry }) => cause !== '' && entry > 0)).toBe(true);
    expect([states.length > 0, pending]).toEqual([true, []]);
    const read = await readSession(journal, 's');
    expect([read.counters, read.events.length]).toEqual([counters, events.length]);
  });

  it('D-6c: after a difference, it is told as it was recorded, without states', () => {
    const first = entries.findIndex(({ type }) => type === 'stepped');
    const wrong = entries.map((entry, index) =>
      entry.type === 'stepped' && index === first
        ? { ...entry, facts: [...entry.facts, { type: 'session.stopping' }] }
        : entry,
    );
    const whole = replayEntries(entries);
    const told = replayEntries(wrong);
    expect(told.difference).toMatchObject({ entry: first + 1, recorded: 'session.started session.stopping' });
    expect([told.states, told.pending]).toEqual([[], []]);
    expect(told.events.map(({ type }) => type)).toEqual(
      whole.events.flatMap(({ type }, index) => (index === 0 ? [type, 'session.stopping'] : [type])),
    );
    expect([told.counters, told.conversation, told.turns]).toEqual([whole.counters, whole.conversation, whole.turns]);
    expect(told.requests.map(({ turn, notice, omitted }) => [turn, notice, omitted])).toEqual(
      whole.requests.map(({ turn, notice, omitted }) => [turn, notice, omitted]),
    );
  });

  it('a request of a session that never started is refused', () => {
    const sent = entries.find(({ type }) => type === 'sent') as Extract<JournalEntry, { type: 'sent' }>;
    const recording = new Recording([]);
    expect(() => recording.play([...upTo(({ type }) => type === 'sent'), { ...sent, scope: 'nowhere' }])).toThrow(
      expect.objectContaining({
        code: 'invalid_journal',
        message: 'The journal tells of a session "nowhere" that did not start.',
      }),
    );
  });

  it('stops at a turn of the session itself, with the request that goes out then', () => {
    const early = upTo(subEnded);
    expect(early.some((entry) => entry.type === 'begun' && entry.key === 'turn-2/attempt-1/model')).toBe(true);
    expect(() => entriesUntil(early, 'turn-2')).toThrow(
      expect.objectContaining({ code: 'invalid_options', message: 'The session has no turn-2.' }),
    );
    const { requests, pending } = replayEntries(entries, { until: 'turn-2' });
    expect(pending).toEqual(['turn-2/attempt-1/model']);
    expect(requests.at(-1)).toMatchObject({ sessionId: 's', turn: 2, attempt: 1 });
    expect(requests.at(-1)?.tools.map(({ name }) => name)).toEqual(['final_report', 'helper']);
    expect(requests).toHaveLength(4);
    expect(replayEntries(entries, { until: 'turn-1' }).requests).toHaveLength(1);
  });
});

describe('D-3: a session that is resumed from its journal', () => {
  it('has not ended while only its sub-agent has', async () => {
    const written: unknown[] = [];
    const kept = holding(upTo(subEnded), {
      lease: async () => true,
      renew: async () => true,
      append: async (_, append) => void written.push(append),
    } as Partial<Journal>);
    const session = await resumeSession(above, { journal: kept, sessionId: 's', logger: false });
    const result = await session.result;
    expect(result.status).toBe('succeeded');
    expect(written.length).toBeGreaterThan(0);
    // What a crash may have lost had positions too.
    const events: SessionEvent[] = [];
    for await (const one of session.events) events.push(one);
    const resumed = events.find(({ type }) => type === 'session.resumed');
    expect(resumed?.seq).toBeGreaterThan(2 ** 32);
  });

  it('takes no lease if it had ended, and tells the same', async () => {
    const lease = () => Promise.reject(new Error('no lease is needed'));
    const session = await resumeSession(above, { journal: holding(entries, { lease }), sessionId: 's', logger: false });
    expect(await session.result).toEqual(
      await (await resumeSession(above, { journal, sessionId: 's', logger: false })).result,
    );
  });

  it.each<[string, (entries: readonly JournalEntry[]) => JournalEntry[], string, string]>([
    ['nothing', () => [], 'session_unknown', 's'],
    [
      'no beginning',
      (all) => all.slice(1),
      'invalid_journal',
      'The journal of the session s does not begin with its start.',
    ],
    [
      'the beginning of another',
      (all) => [{ ...all[0], scope: 'c0' } as JournalEntry, ...all.slice(1)],
      'invalid_journal',
      'The journal of the session s does not begin with its start.',
    ],
  ])('is refused if its journal holds %s', async (_, change, code, message) => {
    const refused = resumeSession(above, { journal: holding(change(entries)), sessionId: 's', logger: false });
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it('reports why it could not be resumed, even if its lease cannot be released', async () => {
    let reads = 0;
    const kept = holding(entries, {
      read: async () => {
        reads += 1;
        if (reads > 1) throw new PawlError('journal_failed', 'The disk is gone.');
        return [...upTo(subEnded)];
      },
      lease: async () => true,
      release: () => {
        throw new Error('no lease to give back');
      },
    });
    await expect(resumeSession(above, { journal: kept, sessionId: 's' })).rejects.toThrow('The disk is gone.');
  });

  it('tells its listeners what is new, and what still waits as it was asked', () => {
    const asked = (callId: string, seq: number, sessionId = 's') =>
      event('tool.approvalRequested', { ...named('look'), callId, seq, sessionId });
    const events = [
      asked('a', 1),
      asked('b', 2),
      asked('c', 3, 's2'),
      event('tool.requested', { ...named('look'), seq: 4 }),
      event('session.resumed', { seq: 7 }),
      asked('d', 8),
    ];
    const heard: number[] = [];
    const spanned: number[] = [];
    const sessionOf = (sessionId: string, approvals: string[], clientCalls: string[]) => ({
      sessionId,
      waiting: () => waitingCalls(sessionId, approvals, clientCalls),
      life: new SessionLife({
        observer: {
          folds: {
            stream: { all: () => events },
            telemetry: { event: ({ seq }: SessionEvent) => void spanned.push(seq) },
            listener: { event: ({ seq }: SessionEvent) => void heard.push(seq) },
          },
        },
      } as unknown as LifeParts),
    });
    const root = { ...sessionOf('s', ['b', 'd'], ['c0']), tree: () => [root, sessionOf('s2', ['c', 'a'], [])] };
    tellWhatWaits(root as never, 4);
    expect([heard, spanned]).toEqual([
      [7, 8, 2, 3],
      [7, 8],
    ]);
  });
});

it('D-3: a session that is not in the journal, or is a run, is not read', async () => {
  const run = { ...entries[0], type: 'run' } as JournalEntry;
  const unknown = { code: 'session_unknown', message: expect.stringContaining('The journal holds no session s') };
  await expect(readSession(holding([run]), 's')).rejects.toMatchObject({
    code: 'session_unknown',
    message: expect.stringContaining('s is a workflow run and not a session.'),
  });
  await expect(readSession(holding([]), 's')).rejects.toMatchObject(unknown);
  await expect(readSession(holding(entries, { list: async () => [] }), 's')).rejects.toMatchObject(unknown);
  await expect(replaySession(holding([]), 's')).rejects.toMatchObject(unknown);
});

it('D-3: a fork exists even if its lease cannot be released', async () => {
  const kept = journalWith(journal, { release: () => Promise.reject(new Error('no lease to give back')) });
  expect(await forkSession(kept, 's', { at: 'turn-2', sessionId: 'fork' })).toBe('fork');
  expect((await journal.read('fork')).length).toBeGreaterThan(0);
});
