import { describe, expect, it } from 'vitest';
import type { Fact } from '../../machines/index.ts';
import { defineAgent, runSession } from '../../src/index.ts';
import { MicrostepReplay } from '../../src/inspect/recorded/microstep-replay.ts';
import { Rows } from '../../src/inspect/recorded/rows.ts';
import { ShownRecording } from '../../src/inspect/recorded/shown-recording.ts';
import { compare } from '../../src/inspect/study/compare.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { manualClock, type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

const busy = { throws: Object.assign(new Error('busy'), { statusCode: 503 }) };

async function recordedOf(replies: RehearsedReply[], prompt = 'Go.', name = 'one'): Promise<ShownRecording> {
  const journal = new MemoryJournal();
  const agent = defineAgent({ name, models: [rehearsalModel(replies)] });
  const random = () => 0.5;
  await runSession(agent, { prompt, journal, sessionId: 's', logger: false, clock: manualClock(), random });
  const recorded = new ShownRecording();
  recorded.takePart(new MicrostepReplay().play(JSON.parse(JSON.stringify(await journal.read('s')))));
  return recorded;
}

describe('S-8: two sessions compared', () => {
  it('are the same whenever they ran, with a wait too', async () => {
    const [one, other] = [await recordedOf([busy, report()]), await recordedOf([busy, report()])];
    const { first, same, facts, attempts, counters, given } = compare(one, other);
    expect([first, counters, given]).toEqual([null, [], []]);
    expect(facts).toEqual([same, same]);
    expect(attempts.map(({ key, isSame }) => [key, isSame])).toEqual([
      ['turn-1/attempt-1', true],
      ['turn-1/attempt-2', true],
    ]);
  });

  it('differ in what they were given, though not in a fact', async () => {
    const [one, other] = [await recordedOf([report()]), await recordedOf([report()], 'Stay.', 'other')];
    expect(compare(one, other)).toMatchObject({ first: null, given: ['agent', 'prompt', 'messages'] });
  });

  it('the first difference is named, and later attempts stand side by side', async () => {
    const [one, other] = [await recordedOf([{}, report()]), await recordedOf([{ text: 'only text' }, {}, report()])];
    const { first, attempts, counters } = compare(one, other);
    expect(first).toMatchObject({
      key: 'turn-1/attempt-1',
      one: { type: 'attempt.replied' },
      other: { type: 'attempt.replied' },
    });
    expect(
      attempts.map(({ key, isSame, one: left, other: right }) => [key, isSame, left?.slugs, right?.slugs]),
    ).toEqual([
      ['turn-1/attempt-1', false, ['empty_response'], ['text_only']],
      ['turn-1/attempt-2', false, [], ['empty_response']],
      ['turn-1/attempt-3', false, undefined, []],
    ]);
    expect(counters).toContainEqual({ path: 'requests', one: 2, other: 3 });
  });

  it('a sub-agent is compared with that of the same call, attempt by attempt', async () => {
    const withHelper = async (said: RehearsedReply) => {
      const helper = defineAgent({ name: 'helper', models: [rehearsalModel([said, report()])] });
      const models = [
        rehearsalModel([
          { calls: [{ id: 'c1', name: 'helper', input: { prompt: 'Help.', reason: 'Two see more.' } }] },
          report(),
        ]),
      ];
      const journal = new MemoryJournal();
      const agent = defineAgent({ name: 'lead', models, agents: { helper } });
      const [clock, random] = [manualClock(), () => 0.5];
      await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false, clock, random });
      const recorded = new ShownRecording();
      recorded.takePart(new MicrostepReplay().play(JSON.parse(JSON.stringify(await journal.read('s')))));
      return recorded;
    };
    const [one, same, other] = [await withHelper({}), await withHelper({}), await withHelper({ text: 'only text' })];
    expect(compare(one, same)).toMatchObject({ first: null, counters: [] });
    const { first, attempts } = compare(one, other);
    const key = attempts.find(({ isSame }) => !isSame)?.key ?? '';
    expect(key).toMatch(/turn-1\/attempt-1$/);
    expect(first?.key).toBe(key);
    expect(attempts.map((row) => [row.key.split('/').at(-2), row.one?.scope === '', row.isSame])).toEqual([
      ['turn-1', true, true],
      ['turn-2', true, true],
      ['turn-1', false, false],
      // Its notice says what was wrong with the one before.
      ['turn-1', false, false],
    ]);
  });
});

it('S-8: an abort ends a wait in the list', () => {
  const rows = new Rows();
  const failure = { slugs: ['aborted' as const], retryAt: null, detail: null };
  const facts: Fact[] = [
    { type: 'session.started', maxTurns: 2, maxRetries: 2, targets: ['a'] },
    { type: 'turn.started', turn: 1, isLastTurn: false },
    { type: 'wait.started', turn: 1, attempt: 2, target: 'a', dueAt: 99 },
    { type: 'turn.aborted', turn: 1, attempts: 1 },
    { type: 'session.aborted', turns: 1, failure },
  ];
  for (const [index, fact] of facts.entries())
    rows.takeObservation({ scope: '', at: index, entry: index, fact }, index + 1);
  expect(rows.byId.filter(({ ended }) => ended === null)).toEqual([]);
});

it('S-8: a journal in memory forgets the sessions that ended first, and none that runs', async () => {
  const journal = new MemoryJournal({ keep: 1 });
  const started = (sessionId: string) =>
    journal.create({ sessionId, agent: 'a', metadata: {} }, { owner: 'o', entries: [] });
  const ended = (sessionId: string) =>
    journal.append(sessionId, { owner: 'o', after: 0, entries: [], change: { status: 'succeeded' } });
  for (const id of ['early', 'late', 'running']) await started(id);
  await ended('late');
  await ended('early');
  expect((await journal.list({})).map(({ sessionId }) => sessionId).sort()).toEqual(['early', 'running']);
});
