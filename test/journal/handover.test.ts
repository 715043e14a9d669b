import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import {
  abortSession,
  approveSession,
  defineAgent,
  idempotent,
  type Journal,
  readSession,
  resumeSession,
  type SessionEvent,
  sqliteJournal,
  startSession,
  steerSession,
  stopSession,
} from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { dyingJournal } from '../support/dying-journal.ts';
import { holding, inputSchema, quiet, until, workingAgent } from '../support/journaled.ts';
import { mayLeave } from '../support/leftovers.ts';

// A process whose death is simulated leaves its timers.
mayLeave('Timeout');

describe('D-3: what is left in the journal is delivered before anything begins', () => {
  /** A session whose request was in flight when its process died. */
  async function died(journal: Journal) {
    const { agent, model } = workingAgent();
    const dying = dyingJournal(journal, 5, 'after');
    startSession(agent, { ...quiet(dying.journal), prompt: 'Go.' });
    await dying.died;
    return { agent, model };
  }

  it('steering is in the next request', async () => {
    const journal = sqliteJournal(':memory:');
    const { agent, model } = await died(journal);
    await steerSession(journal, 's', 'Be quick.');
    const result = await (await resumeSession(agent, quiet(journal))).result;
    assertInvariants(result);
    expect(JSON.stringify(model.requests[0]?.prompt)).toContain('Be quick.');
    expect(result.counters).toMatchObject({ lateResults: 0, failedAttempts: 1 });
  });

  it('after a stop, the next turn is the last; after an abort, no attempt follows', async () => {
    const stopped = sqliteJournal(':memory:');
    const first = await died(stopped);
    await stopSession(stopped, 's');
    const last = await (await resumeSession(first.agent, quiet(stopped))).result;
    expect(last.turns.at(-1)?.isLastTurn).toBe(true);
    const aborted = sqliteJournal(':memory:');
    const second = await died(aborted);
    await abortSession(aborted, 's', 'enough');
    const result = await (await resumeSession(second.agent, quiet(aborted))).result;
    expect(result).toMatchObject({ status: 'aborted', counters: { requests: 1, attempts: 1, lateResults: 0 } });
    expect(second.model.requests).toEqual([]);
  });

  it('an abort ends a sub-agent that was in flight, and its end is reported', async () => {
    const { agent: leaf, model } = holding();
    const asking = rehearsalModel([{ calls: [{ name: 'leaf', input: { prompt: 'Dig.', reason: 'It is deep.' } }] }]);
    const agent = defineAgent({ name: 'root', models: [asking], agents: { leaf } });
    const journal = sqliteJournal(':memory:');
    const session = startSession(agent, { ...quiet(journal), prompt: 'Go.' });
    await until(() => model.requests.length === 1);
    await session.suspend({ graceMs: 0 });
    await abortSession(journal, 's', 'enough');
    const events: SessionEvent[] = [];
    const resumed = await resumeSession(agent, { ...quiet(journal), onEvent: (event) => void events.push(event) });
    const result = await resumed.result;
    expect(result).toMatchObject({ status: 'aborted', counters: { tree: { requests: 2, sessions: 2 } } });
    expect(events.filter(({ type }) => type === 'subAgent.ended')).toMatchObject([{ status: 'aborted' }]);
    expect(model.requests).toHaveLength(1);
  });

  it('an approval that was given meanwhile no longer waits, in the row neither', async () => {
    const charge = tool({ inputSchema, needsApproval: true, execute: () => 'charged' });
    const { agent } = workingAgent({ tools: { work: charge } });
    const journal = sqliteJournal(':memory:');
    const session = startSession(agent, { ...quiet(journal), prompt: 'Go.' });
    await until(() => session.counters.toolCalls.requested === 1);
    await session.suspend();
    const [{ waiting = [] } = {}] = await journal.list({});
    expect(await approveSession(journal, 's', waiting[0] ?? '', { approved: true })).toBe(true);
    const resumed = await resumeSession(agent, quiet(journal));
    await until(() => resumed.counters.toolCalls.executed === 1);
    expect(await approveSession(journal, 's', waiting[0] ?? '', { approved: true })).toBe(false);
    await resumed.result;
    expect(await journal.list({})).toMatchObject([{ status: 'succeeded', waiting: [] }]);
  });
});

describe('S-6: no position is used twice', () => {
  it('by lives that died one after the other before they wrote anything else', async () => {
    const { held, work, model } = holding();
    const agent = defineAgent({ name: 'holding', models: [model], tools: { work: idempotent(work) } });
    const journal = sqliteJournal(':memory:');
    const seen: SessionEvent[] = [];
    const onEvent = (event: SessionEvent) => void seen.push(event);
    const dying = dyingJournal(journal, 8, 'before');
    startSession(agent, { ...quiet(dying.journal), prompt: 'Go.', onEvent });
    await until(() => held.runs === 1);
    held.finish('lost');
    await dying.died;
    for (let life = 1; life <= 2; life += 1) {
      const again = dyingJournal(journal, 2, 'before');
      await resumeSession(agent, { ...quiet(again.journal), onEvent });
      await until(() => held.runs === life + 1);
      held.finish('lost');
      await again.died;
    }
    const session = await resumeSession(agent, { ...quiet(journal), onEvent });
    await until(() => held.runs === 4);
    held.finish('done');
    expect((await session.result).success).toBe(true);
    const seqs = seen.map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].toSorted((one, other) => one - other));
    expect(seen.filter(({ type }) => type === 'session.resumed')).toHaveLength(3);
  });

  it('by what comes late after a suspension: it is not published', async () => {
    const { held, agent } = holding();
    const journal = sqliteJournal(':memory:');
    const seen: SessionEvent[] = [];
    const session = startSession(agent, {
      ...quiet(journal),
      prompt: 'Go.',
      onEvent: (event) => void seen.push(event),
    });
    await until(() => held.runs === 1);
    await session.suspend({ graceMs: 0 });
    await session.result;
    held.finish('late');
    for (let tick = 0; tick < 20; tick += 1) await new Promise(setImmediate);
    expect(seen.at(-1)?.type).toBe('session.suspended');
  });

  it('an interrupted attempt takes back everything that was shown of it', async () => {
    const journal = sqliteJournal(':memory:');
    const { agent } = workingAgent();
    const dying = dyingJournal(journal, 5, 'after');
    startSession(agent, { ...quiet(dying.journal), prompt: 'Go.' });
    await dying.died;
    await (await resumeSession(agent, quiet(journal))).result;
    const { events } = await readSession(journal, 's');
    expect(events.find(({ type }) => type === 'attempt.failed')).toMatchObject({
      slugs: ['interrupted'],
      partsTakenBack: Number.MAX_SAFE_INTEGER,
    });
  });
});
