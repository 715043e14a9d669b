import { tool } from 'ai';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  forkSession,
  type JournalEntry,
  readSession,
  replaySession,
  resumeSession,
  runSession,
  startSession,
} from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { checkHead } from '../../src/session/head.ts';
import { type LifeParts, SessionLife } from '../../src/session/recovery/life.ts';
import { tellWhatWaits } from '../../src/session/recovery/resume-session.ts';
import { Recording } from '../../src/session/replay/recording.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { quiet, workingAgent } from '../support/journaled.ts';
import { listed, ScriptedServer } from '../support/scripted-server.ts';
import { callsIn, counters, report } from '../support/session.ts';
import { waitingCalls } from '../support/waiting-calls.ts';

/** A journal that holds these entries of a suspended session. */
async function withEntries(entries: readonly JournalEntry[]): Promise<MemoryJournal> {
  const journal = new MemoryJournal();
  await journal.create({ sessionId: 's', agent: 'a', metadata: {} }, { owner: 'first', entries: [...entries] });
  await journal.release('s', 'first');
  return journal;
}

it('D-3: nothing is written of a session that had ended, and it takes no command', async () => {
  const journal = new MemoryJournal();
  const { agent } = workingAgent();
  const first = await runSession(agent, { prompt: 'Go.', ...quiet(journal) });
  const before = await journal.read('s');
  const written = [vi.spyOn(journal, 'append'), vi.spyOn(journal, 'release'), vi.spyOn(journal, 'renew')];
  const again = await resumeSession(agent, quiet(journal));
  again.stop();
  again.abort();
  expect([again.steer('Go on.'), await again.result]).toEqual([false, first]);
  await again.suspend({ graceMs: 3_600_000 });
  await new Promise(setImmediate);
  expect(written.map(({ mock }) => mock.calls)).toEqual([[], [], []]);
  expect(await journal.read('s')).toEqual(before);
});

it('D-3: a session is refused if the tools of a sub-agent cannot be opened, though its own can', async () => {
  const begun = Promise.withResolvers<void>();
  const agentOf = (docs: () => ScriptedServer) => {
    const model = rehearsalModel(({ prompt }) => {
      if (prompt.some(({ role }) => role === 'tool')) return report();
      begun.resolve();
      return { hangs: true };
    });
    const mcpServers = { docs: { transport: docs } };
    const helper = defineAgent({ name: 'helping', models: [model], mcpServers });
    const ask = { calls: [{ name: 'helper', input: { prompt: 'Help.', reason: 'Two see more.' } }] };
    return defineAgent({ name: 'above', models: [rehearsalModel([ask])], agents: { helper } });
  };
  const journal = new MemoryJournal();
  const working = () => new ScriptedServer({ 'tools/list': { tools: [listed('look')] } });
  const session = startSession(agentOf(working), { prompt: 'Go.', ...quiet(journal) });
  await begun.promise;
  await session.suspend({ graceMs: 0 });
  const broken = () => {
    throw new Error('no such server');
  };
  await expect(resumeSession(agentOf(broken), quiet(journal))).rejects.toMatchObject({
    code: 'tools_unavailable',
    message: expect.stringContaining('no such server'),
  });
});

it('D-4: a session that had not opened its tools opens them as it did at first, and fails if it cannot', async () => {
  const opened: string[] = [];
  const agentOf = (docs: () => ScriptedServer) =>
    defineAgent({ name: 'a', models: [rehearsalModel([report()])], mcpServers: { docs: { transport: docs } } });
  const working = () => {
    opened.push('docs');
    return new ScriptedServer({ 'tools/list': { tools: [listed('look')] } });
  };
  const whole = new MemoryJournal();
  await runSession(agentOf(working), { prompt: 'Go.', ...quiet(whole) });
  const entries = await whole.read('s');
  const prepares = entries.findIndex((entry) => entry.type === 'begun' && entry.key === 'prepare');
  const early = entries.slice(0, prepares + 1);
  opened.length = 0;
  const result = await (await resumeSession(agentOf(working), quiet(await withEntries(early)))).result;
  assertInvariants(result);
  expect([result.success, opened]).toEqual([true, ['docs']]);
  const broken = () => {
    throw new Error('no such server');
  };
  const failed = await (await resumeSession(agentOf(broken), quiet(await withEntries(early)))).result;
  expect(failed).toMatchObject({ status: 'failed', slugs: ['tools_unavailable'] });
  expect(failed.counters).toEqual(counters({ slugs: { tools_unavailable: 1 } }));
});

it.each([
  ['denied', 'Too dear.', 'tool_denied'],
  ['timeout', null, 'approval_timeout'],
] as const)('D-2: the journal says what became of an approval: %s', async (decision, reason, slug) => {
  const journal = new MemoryJournal();
  const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 'paid' });
  const models = [rehearsalModel([{ calls: [{ name: 'pay', input: {} }] }, report()])];
  const agent = defineAgent({ name: 'a', models, tools: { pay }, limits: { approvalTimeoutMs: 20 } });
  const session = startSession(agent, { prompt: 'Go.', ...quiet(journal) });
  for await (const event of session.events)
    if (event.type === 'tool.approvalRequested' && reason !== null)
      expect(session.approve(event.callId, { approved: false, reason })).toBe(true);
  const result = await session.result;
  assertInvariants(result);
  expect(callsIn(result)[0]).toMatchObject({ slug, executed: false });
  const outcomes = (await journal.read('s')).flatMap((entry) =>
    entry.type === 'delivered' && 'outcome' in entry.delivery && entry.delivery.key.endsWith('approval-0')
      ? [entry.delivery.outcome]
      : [],
  );
  expect(outcomes).toEqual([{ decision, reason }]);
});

it('D-6: a head that cannot be used says why, with the cause', async () => {
  const journal = new MemoryJournal();
  await runSession(workingAgent().agent, { prompt: 'Go.', ...quiet(journal) });
  const [started] = await journal.read('s');
  if (started?.type !== 'started') throw new Error('no start');
  const thrown = (() => {
    try {
      checkHead({ ...started.head, tools: 7 as never });
      return null;
    } catch (error) {
      return error;
    }
  })();
  expect(thrown).toMatchObject({ code: 'invalid_journal', cause: { name: 'PawlError', code: 'invalid_journal' } });
});

it('D-3: a sub-agent that is a tool by now is named', async () => {
  const helper = defineAgent({ name: 'helping', models: [rehearsalModel([{ hangs: true }])] });
  const ask = { calls: [{ name: 'helper', input: { prompt: 'Help.', reason: 'Two see more.' } }] };
  const above = (over: object) => defineAgent({ name: 'above', models: [rehearsalModel([ask])], ...over });
  const journal = new MemoryJournal();
  const session = startSession(above({ agents: { helper } }), { prompt: 'Go.', ...quiet(journal) });
  for await (const event of session.events) if (event.path.length > 0 && event.type === 'attempt.started') break;
  await session.suspend({ graceMs: 0 });
  const now = above({ tools: { helper: tool({ inputSchema: z.object({}), execute: () => 'helped' }) } });
  await expect(resumeSession(now, quiet(journal))).rejects.toMatchObject({
    code: 'agent_changed',
    message: 'The agent is not the one that began the session s: the sub-agent helper is missing.',
  });
});

it('D-3: a recording that is played in parts does nothing between them', async () => {
  const journal = new MemoryJournal();
  await runSession(workingAgent().agent, { prompt: 'Go.', ...quiet(journal) });
  const entries = await journal.read('s');
  const recording = new Recording([]);
  for (const entry of entries) {
    recording.play([entry]);
    await new Promise(setImmediate);
  }
  expect(recording.played()).toEqual(await replaySession(journal, 's'));
});

it('D-6c: a replay that differs at the place where it stops shows the requests that were sent', async () => {
  const whole = new MemoryJournal();
  const agent = defineAgent({ name: 'a', models: [rehearsalModel([{}, report()])] });
  await runSession(agent, { prompt: 'Go.', ...quiet(whole) });
  const entries = structuredClone(await whole.read('s')) as JournalEntry[];
  const [first, second] = entries.filter(({ type }) => type === 'begun').slice(1);
  expect([first, second]).toMatchObject([{ key: 'turn-1/attempt-1/model' }, { key: 'turn-1/attempt-2/model' }]);
  const step = entries.slice(0, entries.indexOf(second as JournalEntry)).findLast(({ type }) => type === 'stepped');
  Object.assign(step ?? {}, { facts: [{ type: 'session.stopping' }] });
  const { difference, requests } = await replaySession(await withEntries(entries), 's', { until: 'turn-1/attempt-2' });
  expect(difference).not.toBeNull();
  expect(requests.map(({ attempt }) => attempt)).toEqual([1]);
});

it('D-3: a suspension waits for servers that close, so the session ends', async () => {
  const [asked, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transport = new ScriptedServer({ 'tools/list': { tools: [listed('look')] } });
  vi.spyOn(transport, 'close').mockImplementation(async () => {
    asked.resolve();
    await closed.promise;
    transport.onclose?.();
  });
  const mcpServers = { docs: { transport } };
  const agent = defineAgent({ name: 'a', models: [rehearsalModel([report()])], mcpServers });
  const session = startSession(agent, { prompt: 'Go.', ...quiet(new MemoryJournal()) });
  await asked.promise;
  const suspended = session.suspend({ graceMs: 60_000 });
  await new Promise(setImmediate);
  closed.resolve();
  await suspended;
  const result = await session.result;
  assertInvariants(result);
  expect(result.status).toBe('succeeded');
});

it.each([
  [undefined, ['tool.approvalRequested a']],
  [{ handedOut: true }, ['tool.approvalRequested a', 'tool.handedOut c']],
  [{ handedOut: true, decided: ['s a'] }, ['tool.handedOut c']],
  [{ decided: ['s a'] }, []],
])('S-6: what is still waited for is asked again, with %j: %j', (options, asked) => {
  const event = (seq: number, type: string, callId: string) => ({ sessionId: 's', seq, type, callId });
  const events = [
    ...[event(1, 'tool.approvalRequested', 'a'), event(2, 'tool.handedOut', 'c'), event(3, 'tool.progressed', 'c')],
    ...[event(4, 'tool.approvalRequested', 'gone'), event(5, 'tool.handedOut', 'gone'), event(8, 'tool.started', 'd')],
  ];
  const told: string[] = [];
  const note = ({ type, callId }: { type: string; callId: string }) => told.push(`${type} ${callId}`);
  const folds = { stream: { all: () => events }, telemetry: { event: () => {} }, listener: { event: note } };
  const life = new SessionLife({ observer: { folds } } as unknown as LifeParts);
  const session = { sessionId: 's', waiting: () => waitingCalls('s', ['a'], ['c']), life, tree: () => [session] };
  tellWhatWaits(session as never, 7, options);
  expect(told).toEqual(['tool.started d', ...asked]);
});

it('D-3: what reads or forks a session names the option that is wrong', async () => {
  const journal = new MemoryJournal();
  const { agent } = workingAgent();
  await runSession(agent, { prompt: 'Go.', ...quiet(journal) });
  await runSession(agent, { prompt: 'Go.', ...quiet(journal), sessionId: 'other' });
  const refusals: [Promise<unknown>, string][] = [
    [forkSession(journal, 's', { at: '' }), '`options.at` must be'],
    [forkSession(journal, 's', { at: 'later' }), '`at` must be turn-N or turn-N/attempt-M; got "later".'],
    [readSession(journal, 's', { until: 'turn-1' } as never), 'Unknown option `options.until`'],
  ];
  for (const [refused, message] of refusals)
    await expect(refused).rejects.toMatchObject({ code: 'invalid_options', message: expect.stringContaining(message) });
  for (const sessionId of ['s', 'other']) expect(await readSession(journal, sessionId)).toMatchObject({ sessionId });
});

it('B-1: a session is begun and resumed with an agent and options, or says which of them is wrong', async () => {
  const journal = new MemoryJournal();
  const { agent } = workingAgent();
  const refused = [
    [() => startSession('a' as never, { prompt: 'Go.' }), '`agent` must be an agent made by defineAgent; got "a".'],
    [() => startSession(agent, null as never), '`options` must be an object with `prompt` or `messages`; got null.'],
    [
      () => startSession(agent, { prompt: 'Go.', ...quiet(journal), sessionId: 'i'.repeat(501) }),
      'at most 500 characters',
    ],
    [() => resumeSession(agent, { ...quiet(journal), sessionId: '' }), '`options.sessionId` must be'],
  ] as const;
  for (const [begin, message] of refused)
    await expect((async () => begin())()).rejects.toMatchObject({
      code: 'invalid_options',
      message: expect.stringContaining(message),
    });
  const { sessionId } = await runSession(agent, { prompt: 'Go.', ...quiet(journal), sessionId: 'i'.repeat(500) });
  expect(sessionId).toHaveLength(500);
});
