import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  approveSession,
  defineAgent,
  forkSession,
  type Journal,
  type JournalEntry,
  readSession,
  replaySession,
  resumeSession,
  runSession,
  type SessionEvent,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { holding, marked, quiet, until, workingAgent } from '../support/journaled.ts';
import { report } from '../support/session.ts';

/** A journal whose entries of `s` are as `change` makes them. */
function changed(journal: Journal, change: (entries: JournalEntry[]) => JournalEntry[]): Journal {
  return new Proxy(journal, {
    get: (target, name) => {
      if (name === 'read') return async (sessionId: string) => change(await target.read(sessionId));
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A session above a sub-agent whose tool runs until the test lets it finish. */
function above() {
  const { held, agent: helper, model } = holding({ name: 'helping', limits: { maxTurns: 3 } });
  const own = rehearsalModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool')
      ? report()
      : { calls: [{ name: 'helper', input: { prompt: 'Help.', reason: 'Long.' } }] },
  );
  return { held, model, own, agent: defineAgent({ name: 'above', models: [own], agents: { helper } }) };
}

async function suspendedAbove(journal: Journal) {
  const { held, agent } = above();
  const session = startSession(agent, { prompt: 'Go.', ...quiet(journal) });
  await until(() => held.runs === 1);
  expect(await session.suspend({ graceMs: 0 })).toBeUndefined();
  expect((await session.result).status).toBe('suspended');
}

describe('D-4: a session that is resumed', () => {
  it('says what was interrupted, under the path of its sub-agent, and only what is new', async () => {
    const journal = sqliteJournal(':memory:');
    await suspendedAbove(journal);
    const before = (await replaySession(journal, 's')).events.at(-1)?.seq ?? 0;
    const [events, told]: SessionEvent[][] = [[], []];
    const telemetry = {
      session: ({ parent }: { parent: unknown }) => ({
        event: (event: SessionEvent) => void (parent === null && told?.push(event)),
        around: <T>(_key: string, work: () => Promise<T>) => work(),
      }),
    };
    const { agent, model } = above();
    const onEvent = (event: SessionEvent) => void events?.push(event);
    const { result } = await resumeSession(agent, { ...quiet(journal), telemetry, onEvent });
    const ended = await result;
    assertInvariants(ended);
    expect(ended.success).toBe(true);
    expect(events?.[0]).toMatchObject({ type: 'session.resumed', sessionId: 's', seq: before + 1 });
    expect(events?.find(({ type }) => type === 'session.resumed')).toMatchObject({
      interrupted: ['call-1-0/turn-1/attempt-1/tool-0'],
    });
    expect(told).toEqual(events);
    // The sub-agent continues from the answer, without repeating its earlier request.
    expect(model.requests).toHaveLength(1);
    await journal.close();
  });

  it('is refused without an agent, with a wrong context, and when it is the run of a workflow', async () => {
    const journal = sqliteJournal(':memory:');
    const strict = workingAgent({ contextSchema: z.object({ user: z.string() }) as never });
    await expect(resumeSession({} as never, quiet(journal))).rejects.toMatchObject({ code: 'invalid_options' });
    await expect(resumeSession(strict.agent, { ...quiet(journal), context: {} as never })).rejects.toThrow('context');
    await expect(resumeSession(workingAgent().agent, quiet(journal))).rejects.toMatchObject({
      code: 'session_unknown',
      message: 'The journal holds no session s.',
    });
    const head = { sessionId: 's' };
    const run = changed(journal, () => [{ scope: '', type: 'run', head } as never]);
    for (const refused of [() => resumeSession(workingAgent().agent, quiet(run)), () => replaySession(run, 's')])
      await expect(refused()).rejects.toThrow('s is a workflow run and not a session.');
    await journal.close();
  });

  it('D-3: an approval that is still waited for is asked again, and one that was given is not, also not meanwhile', async () => {
    const journal = sqliteJournal(':memory:');
    const work = { inputSchema: z.object({}), needsApproval: true, execute: () => 'done' };
    const make = () => {
      const model = rehearsalModel(({ prompt }) =>
        prompt.some(({ role }) => role === 'tool')
          ? report()
          : {
              calls: [
                { name: 'work', input: {} },
                { name: 'work', input: {} },
              ],
            },
      );
      return defineAgent({ name: 'asking', models: [model], tools: { work } });
    };
    const asked: string[] = [];
    const keep = (event: SessionEvent) => {
      if (event.type === 'tool.approvalRequested') asked.push(event.callId);
    };
    const session = startSession(make(), { prompt: 'Go.', ...quiet(journal), onEvent: keep });
    await until(() => asked.length === 2);
    const [first = '', second = ''] = asked;
    session.approve(first, { approved: true });
    await marked(journal, 's', 'tool-0');
    await session.suspend();
    asked.length = 0;
    const resumed = await resumeSession(make(), { ...quiet(journal), onEvent: keep });
    expect(asked).toEqual([second]);
    await resumed.suspend();
    asked.length = 0;
    expect(await approveSession(journal, 's', second, { approved: true })).toBe(true);
    const again = await resumeSession(make(), { ...quiet(journal), onEvent: keep });
    const result = await again.result;
    expect(asked).toEqual([]);
    assertInvariants(result);
    expect(result.counters.toolCalls).toMatchObject({ requested: 3, answered: 3, executed: 2, succeeded: 2 });
    await journal.close();
  });
});

describe('D-3: a session that is read', () => {
  it('a session that no journal holds, and a position that it never reached, are refused by name', async () => {
    const journal = sqliteJournal(':memory:');
    await runSession(workingAgent().agent, { prompt: 'Go.', ...quiet(journal) });
    for (const read of [replaySession, readSession]) {
      await expect(read(journal, 'unknown')).rejects.toMatchObject({ code: 'session_unknown' });
      await expect(read({} as never, 's')).rejects.toMatchObject({ code: 'invalid_options' });
      await expect(read(journal, 5 as never)).rejects.toMatchObject({ code: 'invalid_options' });
    }
    for (const until of ['turn', 'turn-', 'turn-1/attempt', 'in turn-1', 'turn-1/attempt-1/model'])
      await expect(replaySession(journal, 's', { until })).rejects.toMatchObject({
        code: 'invalid_options',
        message: `\`until\` must be turn-N or turn-N/attempt-M; got "${until}".`,
      });
    await expect(replaySession(journal, 's', { until: 'turn-9/attempt-12' })).rejects.toThrow(
      'The session has no turn-9/attempt-12.',
    );
    const noStart = changed(journal, (entries) => entries.slice(1));
    await expect(readSession(noStart, 's')).rejects.toMatchObject({ code: 'invalid_journal' });
    const [first] = await journal.read('s');
    const older = { ...first, head: { ...(first as { head: object }).head, format: 3 } } as JournalEntry;
    const other = changed(journal, (entries) => [older, ...entries.slice(1)]);
    await expect(readSession(other, 's')).rejects.toMatchObject({ code: 'machines_changed' });
    await journal.close();
  });

  it('until a turn: what waits there, and the request that goes out then', async () => {
    const journal = sqliteJournal(':memory:');
    const { model, agent } = workingAgent();
    await runSession(agent, { prompt: 'Go.', ...quiet(journal) });
    const second = await replaySession(journal, 's', { until: 'turn-2' });
    expect(second.pending).toEqual(['turn-2/attempt-1/model']);
    expect(second.requests.map(({ turn, attempt, messages }) => [turn, attempt, messages.length])).toEqual([
      [1, 1, 1],
      [2, 1, 3],
    ]);
    expect(second.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual(
      model.requests.map(({ tools }) => tools),
    );
    const first = await replaySession(journal, 's', { until: 'turn-1/attempt-1' });
    expect(first.requests).toHaveLength(1);
    expect(first.steps.map(({ cause, sessionId }) => [cause, sessionId])).toEqual([
      ['start', 's'],
      ['prepare', 's'],
    ]);
    await journal.close();
  });
});

describe('D-3: a fork of a session', () => {
  it('has sub-agents of its own, and the other stays as it was', async () => {
    const journal = sqliteJournal(':memory:');
    await suspendedAbove(journal);
    const before = await journal.read('s');
    const two = await journal.list({});
    expect(two).toHaveLength(1);
    const { agent } = above();
    await resumeSession(agent, quiet(journal)).then(({ result }) => result);
    const forkId = await forkSession(journal, 's', { at: 'turn-2', sessionId: 's2' });
    expect(forkId).toBe('s2');
    const ids = (entries: readonly JournalEntry[]) =>
      new Set(JSON.stringify(entries).match(/"(?:sessionId|childSessionId)":"[^"]*"/g));
    const own = ids(await journal.read('s2'));
    expect([...own].every((id) => /:"s2(\/|")/.test(id))).toBe(true);
    expect(own.size).toBe(3);
    const { agent: again, own: model } = above();
    const result = await (await resumeSession(again, { ...quiet(journal), sessionId: 's2' })).result;
    assertInvariants(result);
    expect(result).toMatchObject({ sessionId: 's2', success: true });
    expect(model.requests).toHaveLength(1);
    expect((await journal.read('s')).slice(0, before.length)).toEqual(before);
    expect((await journal.list({})).map(({ sessionId }) => sessionId).sort()).toEqual(['s', 's2']);
    await journal.close();
  });

  it('a fork that is not possible is refused with the reason', async () => {
    const journal = sqliteJournal(':memory:');
    await runSession(workingAgent().agent, { prompt: 'Go.', ...quiet(journal) });
    const code = (error: string) => expect.objectContaining({ code: error });
    await expect(forkSession(journal, 'unknown', { at: 'turn-1' })).rejects.toEqual(code('session_unknown'));
    await expect(forkSession({} as never, 's', { at: 'turn-1' })).rejects.toEqual(code('invalid_options'));
    await expect(forkSession(journal, 's', { at: '' })).rejects.toThrow('`options.at`');
    await expect(forkSession(journal, 's', { at: 'turn-1', id: 'x' } as never)).rejects.toThrow('`options.id`');
    await expect(forkSession(journal, 's', { at: 'turn-1', sessionId: 's' })).rejects.toEqual(code('session_exists'));
    const noStart = changed(journal, (entries) => entries.slice(1));
    await expect(forkSession(noStart, 's', { at: 'turn-2', sessionId: 'n' })).rejects.toMatchObject({
      code: 'invalid_journal',
      message: 'The journal of the session s does not begin with its start.',
    });
    await journal.close();
  });
});
