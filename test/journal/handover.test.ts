import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import {
  abortSession,
  approveSession,
  defineAgent,
  idempotent,
  type Journal,
  PawlError,
  readSession,
  resumeSession,
  type SessionEvent,
  sqliteJournal,
  startSession,
  steerSession,
  stopSession,
} from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { dyingJournal, journalWith } from '../support/dying-journal.ts';
import { freshFile, inputSchema, workingAgent } from '../support/journaled.ts';
import { keptLog, report } from '../support/session.ts';

const quiet = (journal: Journal) => ({ journal, sessionId: 's', logger: false as const });
const until = async (is: () => boolean) => {
  while (!is()) await new Promise(setImmediate);
};

/** A tool that runs until it is let go, and an agent that calls it once. */
function holding(name = 'work') {
  const held: { finish: (said: string) => void; runs: number } = { finish: () => {}, runs: 0 };
  const work = tool({
    inputSchema,
    execute: () => {
      held.runs += 1;
      return new Promise<string>((resolve) => {
        held.finish = resolve;
      });
    },
  });
  const model = rehearsalModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name, input: {} }] },
  );
  return { held, work, model, agent: defineAgent({ name: 'holding', models: [model], tools: { [name]: work } }) };
}

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

  it('an abort ends a sub-agent that was in flight, and its end is told', async () => {
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

  it('by what comes late after a suspension: it is told to nobody', async () => {
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

describe('D-5: who lets go of a session says so once', () => {
  it('a process that stalled does not get its lease back from one that went on and let go', async () => {
    const file = freshFile();
    const [one, other] = [sqliteJournal(file, { leaseMs: 100 }), sqliteJournal(file)];
    const { held, agent } = holding();
    const renewed = { may: false };
    const stalled = journalWith(one, {
      renew: async (sessionId, owner) => {
        while (!renewed.may) await new Promise(setImmediate);
        return one.renew(sessionId, owner);
      },
    });
    const session = startSession(agent, { ...quiet(stalled), prompt: 'Go.' });
    await until(() => held.runs === 1);
    const taken = async () => {
      for (;;) {
        const resumed = await resumeSession(agent, quiet(other)).catch(() => null);
        if (resumed !== null) return resumed;
      }
    };
    await (await taken()).suspend({ graceMs: 0 });
    renewed.may = true;
    expect(await session.result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
    expect((await other.list({}))[0]?.status).toBe('suspended');
    await Promise.all([one.close(), other.close()]);
  });

  it('when only the end cannot be written, the session ended all the same, with its one line', async () => {
    for (const limits of [{}, { maxTurns: 1, maxRetries: 1 }]) {
      const journal = sqliteJournal(':memory:');
      const failing = journalWith(journal, {
        append: (sessionId, append) =>
          append.change?.status === undefined
            ? journal.append(sessionId, append)
            : Promise.reject(new PawlError('journal_failed', 'The disk is full.')),
      });
      const { lines, logger } = keptLog();
      const seen: SessionEvent[] = [];
      const { agent } = workingAgent({ limits });
      const session = startSession(agent, {
        journal: failing,
        sessionId: 's',
        logger,
        prompt: 'Go.',
        onEvent: (event) => void seen.push(event),
      });
      const result = await session.result;
      expect(lines.filter(({ level }) => level >= 50)).toHaveLength(result.success ? 0 : 1);
      expect(seen.at(-1)).toMatchObject({ type: 'observer.failed', observer: 'journal' });
      expect(seen.map(({ type }) => type)).not.toContain('session.suspended');
    }
  });

  it('suspend twice is one suspension; what it accepted meanwhile is delivered, and later nothing is accepted', async () => {
    const { held, agent } = holding();
    const journal = sqliteJournal(':memory:');
    const { lines, logger } = keptLog();
    const session = startSession(agent, { journal, sessionId: 's', logger, prompt: 'Go.' });
    await until(() => held.runs === 1);
    const suspending = [session.suspend(), session.suspend({ graceMs: 1 })];
    expect(session.steer('Be quick.')).toBe(true);
    held.finish('done');
    await Promise.all(suspending);
    expect(session.steer('Too late.')).toBe(false);
    expect(lines.filter(({ event }) => event === 'session.suspended')).toHaveLength(1);
    const result = await (await resumeSession(agent, quiet(journal))).result;
    expect(JSON.stringify(result.conversation)).toContain('Be quick.');
    expect(JSON.stringify(result.conversation)).not.toContain('Too late.');
  });

  it('suspend of a session that is ending waits until its end is durable', async () => {
    const journal = sqliteJournal(':memory:');
    const slow = journalWith(journal, {
      append: async (sessionId, append) => {
        for (let tick = 0; tick < 30; tick += 1) await new Promise(setImmediate);
        return journal.append(sessionId, append);
      },
    });
    const { agent } = workingAgent();
    const held: { ended: boolean } = { ended: false };
    const onEvent = ({ type }: SessionEvent) => {
      held.ended ||= type === 'session.succeeded';
    };
    const session = startSession(agent, { ...quiet(slow), prompt: 'Go.', onEvent });
    await until(() => held.ended);
    await session.suspend();
    expect(await journal.list({})).toMatchObject([{ status: 'succeeded' }]);
    expect((await session.result).success).toBe(true);
  });

  it('a first write whose answer was lost: the session can be resumed, so it did not fail', async () => {
    const journal = sqliteJournal(':memory:');
    const losing = journalWith(journal, {
      create: async (session, append) => {
        await journal.create(session, append);
        throw new PawlError('journal_failed', 'The connection was reset.');
      },
    });
    const { agent, worked } = workingAgent();
    const result = await startSession(agent, { ...quiet(losing), prompt: 'Go.' }).result;
    expect(result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'], counters: { requests: 0 } });
    expect((await (await resumeSession(agent, quiet(journal))).result).success).toBe(true);
    expect(worked).toEqual(['worked']);
  });

  it('preliminary output takes no more room than the last of it', async () => {
    const journal = sqliteJournal(':memory:');
    const grow = tool({
      inputSchema,
      async *execute() {
        for (let size = 10; size <= 20_000; size += 10) yield 'x'.repeat(size);
      },
    });
    const { agent } = workingAgent({ tools: { work: grow } });
    expect((await startSession(agent, { ...quiet(journal), prompt: 'Go.' }).result).success).toBe(true);
    const entries = await journal.read('s');
    expect(JSON.stringify(entries).length).toBeLessThan(500_000);
    const { events } = await readSession(journal, 's');
    expect(events.filter(({ type }) => type === 'tool.progressed').length).toBeGreaterThan(0);
  });

  it('S-5: a recorded session shows no secret that the reader names', async () => {
    const journal = sqliteJournal(':memory:');
    const tell = tool({ inputSchema, execute: () => 'the key is sesame-42' });
    const { agent } = workingAgent({ tools: { work: tell } });
    await startSession(agent, { ...quiet(journal), prompt: 'Go.' }).result;
    const shown = JSON.stringify((await readSession(journal, 's', { secrets: ['sesame-42'] })).events);
    expect(shown).toContain('the key is [redacted]');
    expect(shown).not.toContain('sesame-42');
  });
});
