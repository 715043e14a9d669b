import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from 'ai';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Agent, defineAgent, type SessionEvent, type SessionResult } from '../../src/index.ts';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { isProcessing } from '../../src/restate/restate-driver.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { inputSchema, until } from '../support/journaled.ts';
import { RestateEngine } from '../support/restate-engine.ts';
import { report } from '../support/session.ts';

vi.mock('@restatedev/restate-sdk', async (original) => {
  const { EnginePromise } = await import('../support/restate-attempt.ts');
  return { ...(await original<object>()), RestatePromise: EnginePromise, workflow: (definition: object) => definition };
});

afterEach(() => void vi.useRealTimers());

/** An engine that serves an agent, and what the agent's sessions told. */
function serving(agent: Agent, atStep?: (step: number) => boolean) {
  const told: SessionEvent[] = [];
  const onEvent = (event: SessionEvent) => void told.push(event);
  const { handlers } = restateAgents({ agents: [agent], logger: false, onEvent }) as never as { handlers: never };
  const engine = new RestateEngine(handlers, atStep);
  const begin = () => engine.call('run', 's', { agent: agent.name, prompt: 'Go.' });
  const ran = async () => {
    const result = (await engine.returned('run', 's', { agent: agent.name, prompt: 'Go.' })) as SessionResult;
    assertInvariants(result);
    return result;
  };
  const of = (type: SessionEvent['type']) => told.filter((event) => event.type === type);
  /** The id of the call that was handed out. */
  const handed = () => {
    const [event] = of('tool.handedOut');
    return event !== undefined && 'callId' in event ? event.callId : null;
  };
  /** Begins a session whose process dies while a call waits outside. Another process continues it. */
  const continued = async () => {
    const run = begin();
    await until(() => of('tool.handedOut').length === 1);
    run.die();
    await until(() => of('tool.handedOut').length === 2);
    return { run, callId: handed() };
  };
  return { engine, told, begin, ran, of, handed, continued };
}

const calling = (name: string, input: object = {}) =>
  rehearsalModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name, input }] },
  );

describe('D-5: the tools of an MCP server, in the processes that continue a session', () => {
  /** A session whose call waits outside, then uses a server. Its starts that are named fail. */
  function noting(...failing: number[]) {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-starting-'));
    const [notes, starts] = [join(folder, 'notes'), join(folder, 'starts')];
    const script = join(import.meta.dirname, '../support/note-mcp.ts');
    const start = `echo x >> ${starts}; case $(wc -l < ${starts} | tr -d " ") in ${['0', ...failing].join('|')}) exit 1;; esac; exec "${process.execPath}" --no-warnings ${script} ${notes}`;
    const model = rehearsalModel(({ prompt }) => {
      const called = JSON.stringify(prompt.filter(({ role }) => role === 'assistant'));
      const next = ['locate', 'notes__note'].find((name) => !called.includes(`"toolName":"${name}"`));
      return next === undefined ? report('Noted.') : { calls: [{ name: next }] };
    });
    const agent = defineAgent({
      name: 'noting',
      models: [model],
      tools: { locate: tool({ inputSchema }) },
      mcpServers: { notes: { command: 'sh', args: ['-c', start] } },
      limits: { clientToolTimeoutMs: null },
    });
    const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').length - 1;
    return { agent, notes: () => linesOf(notes), starts: () => linesOf(starts) };
  }
  const answer = { type: 'answer', output: 'Bonn', isError: false, sessionId: null };

  it('are opened again, as often as the engine tries', async () => {
    const { agent, notes, starts } = noting(2, 3);
    const { engine, of, continued } = serving(agent);
    const { run, callId } = await continued();
    await engine.returned('message', 's', { ...answer, callId });
    await until(() => run.hasEnded);
    expect([of('session.succeeded').length, notes(), starts(), engine.problems]).toEqual([1, 1, 4, []]);
  });

  it('are not opened only to be closed', async () => {
    const { agent, starts } = noting();
    let closing = 0;
    const { engine, of, begin, handed }: ReturnType<typeof serving> = serving(agent, () => {
      closing += engine.commands('s').at(-1) === 'run mark close' ? 1 : 0;
      return closing === 1;
    });
    const run = begin();
    await until(() => of('tool.handedOut').length === 1);
    const callId = handed();
    await engine.returned('message', 's', { ...answer, callId });
    await until(() => run.hasEnded);
    expect([of('session.succeeded').length, starts()]).toEqual([1, 1]);
    expect(closing).toBeGreaterThan(1);
  });

  it('that the engine gives up fail the attempt that needed them, and say why', async () => {
    const { agent, notes } = noting(2);
    const { engine, of, begin, handed } = serving(agent);
    const run = begin();
    await until(() => of('tool.handedOut').length === 1);
    engine.givesUp = true;
    run.die();
    await until(() => of('tool.handedOut').length === 2);
    const callId = handed();
    await engine.returned('message', 's', { ...answer, callId });
    await until(() => run.hasEnded);
    expect(of('attempt.failed')).toMatchObject([
      { slugs: ['internal_error'], detail: expect.stringContaining('server notes is unavailable') },
    ]);
    expect([of('session.succeeded').length, notes()]).toEqual([1, 1]);
  });
});

describe('D-2: a cancelled invocation', () => {
  it('aborts its session at whichever step it is, though a tool would run for hours', async () => {
    let executed = 0;
    let cancel = () => {};
    const hold = tool({
      inputSchema,
      execute: (_, { abortSignal }) =>
        new Promise<string>((_resolve, reject) => {
          executed += 1;
          abortSignal?.addEventListener('abort', () => reject(abortSignal.reason));
          setImmediate(cancel);
        }),
    });
    const agent = defineAgent({ name: 'holding', models: [calling('hold')], tools: { hold } });
    for (let at = 1; executed === 0; at += 1) {
      let isCancelled = false;
      const { engine, ran }: ReturnType<typeof serving> = serving(agent, (step) => {
        if (step === at) cancel();
        return false;
      });
      cancel = () => {
        if (!isCancelled) engine.cancel('s');
        isCancelled = true;
      };
      expect([at, (await ran()).status]).toEqual([at, 'aborted']);
    }
  });
});

describe('D-3: the times of a session on Restate', () => {
  it.each([
    ['an hour ahead', 3_600_000],
    ['an hour behind', -3_600_000],
  ])('a limit is reached in its time, though a message came from a clock that is %s', async (_, offset) => {
    const work = tool({ inputSchema, needsApproval: true, execute: () => 'done' });
    const limits = { approvalTimeoutMs: 59_000 };
    const agent = defineAgent({ name: 'waiting', models: [calling('work')], tools: { work }, limits });
    let isSteered = false;
    const { engine, ran, of }: ReturnType<typeof serving> = serving(agent, () => {
      if (isSteered) return false;
      isSteered = true;
      engine.now = () => Date.now() + offset;
      engine.call('message', 's', { type: 'session.steer', text: 'Hurry.' });
      return false;
    });
    expect((await ran()).turns[0]?.attempts[0]?.calls[0]?.slug).toBe('approval_timeout');
    const begun = of('session.started')[0]?.at ?? 0;
    const lasted = (of('tool.answered')[0]?.at ?? 0) - begun - Math.max(0, offset);
    expect([lasted >= 59_000, lasted < 90_000, of('session.steered').length]).toEqual([true, true, 1]);
  });

  it('B-7: a sub-agent that begins later has what is left of the session’s time', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
    const models = [rehearsalModel(() => report('Helped.'))];
    const helper = defineAgent({ name: 'helper', models });
    const mcpServers = { gone: { command: 'false' } };
    const broken = defineAgent({ name: 'broken', models, mcpServers });
    const input = { prompt: 'Help.', reason: 'Long.' };
    const above = rehearsalModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool')
        ? report()
        : { calls: ['helper', 'broken'].map((name) => ({ name, input })) },
    );
    const agents = { broken, helper };
    // One request is left for a sub-agent: the last one has it, and gives it back.
    const agent = defineAgent({ name: 'above', models: [above], agents, limits: { maxTreeRequests: 3 } });
    const { engine, of }: ReturnType<typeof serving> = serving(agent, () => {
      if (of('subAgent.started').length === 1) vi.setSystemTime(1_600_000);
      return false;
    });
    await engine.returned('run', 's', { agent: 'above', prompt: 'Go.', budget: { wallClockMs: 3_600_000 } });
    const given = engine.commands('s').flatMap((what) => /"wallClockMs":(\d+)/.exec(what)?.[1] ?? []);
    expect(given.map(Number)).toEqual([3_600_000, 3_000_000]);
  });
});

describe('D-3: the events of a session on Restate', () => {
  it('come once, though another process replays what came before', async () => {
    const work = tool({ inputSchema });
    const limits = { clientToolTimeoutMs: null };
    const agent = defineAgent({ name: 'waiting', models: [calling('work')], tools: { work }, limits });
    const { engine, of, continued } = serving(agent);
    const { run, callId } = await continued();
    await engine.returned('message', 's', { type: 'answer', callId, output: 1, isError: false, sessionId: null });
    await until(() => run.hasEnded);
    expect([of('session.started').length, of('turn.started').length]).toEqual([1, 2]);
  });

  it('are new if the engine does not say', () => {
    expect([{}, { isProcessing: 1 }, { isProcessing: () => true }].map(isProcessing)).toEqual([true, true, true]);
    expect(isProcessing({ isProcessing: () => false })).toBe(false);
  });
});

it('S-4: a session that is aborted closes its tools when its sub-agents have ended', async () => {
  let abort = () => {};
  const hold = tool({
    inputSchema,
    execute: async (_, { abortSignal }) => {
      setImmediate(abort);
      await until(() => abortSignal?.aborted === true);
      return 'held';
    },
  });
  const helper = defineAgent({ name: 'helper', models: [calling('hold')], tools: { hold } });
  const models = [calling('helper', { prompt: 'Help.', reason: 'Long.' })];
  const agent = defineAgent({ name: 'above', models, agents: { helper } });
  const { engine, ran, told } = serving(agent);
  abort = () => void engine.call('message', 's', { type: 'session.abort', reason: 'enough' });
  expect(await ran()).toMatchObject({ status: 'aborted', counters: { tree: { sessions: 2 } } });
  const commands = engine.commands('s');
  expect(commands.slice(-5)).toEqual(['run now', 'run mark close', 'run close', 'run mark lines', 'run lines']);
  const ends = ['session.aborted', 'subAgent.ended'];
  expect(told.flatMap(({ type, sessionId }) => (ends.includes(type) ? [`${type} ${sessionId}`] : []))).toEqual([
    'session.aborted s/call-1-0',
    'subAgent.ended s',
    'session.aborted s',
  ]);
});
