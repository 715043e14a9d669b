import { TerminalError } from '@restatedev/restate-sdk';
import { tool } from 'ai';
import { describe, expect, it, vi } from 'vitest';
import { type Agent, defineAgent, type SessionEvent, type SessionResult } from '../../src/index.ts';
import { type RestateAgentsOptions, restateAgents } from '../../src/restate/restate-agents.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { everyStep } from '../support/engine-agents.ts';
import { lived } from '../support/engine-lives.ts';
import { inputSchema, until } from '../support/journaled.ts';
import { RestateEngine } from '../support/restate-engine.ts';
import { keptLog, report } from '../support/session.ts';
import { errorOf } from '../support/temporary.ts';

vi.mock('@restatedev/restate-sdk', async (original) => {
  const { EnginePromise } = await import('../support/restate-attempt.ts');
  return { ...(await original<object>()), RestatePromise: EnginePromise, workflow: (definition: object) => definition };
});

type Message = (context: object, message: object) => Promise<void>;
const handlersOf = (options: RestateAgentsOptions) =>
  (restateAgents(options) as never as { handlers: { run: never; message: Message } }).handlers;
const engineOf = (options: RestateAgentsOptions) => new RestateEngine(handlersOf(options) as never);
const calling = (...names: string[]) =>
  rehearsalModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool')
      ? report()
      : {
          calls: names.map((name) => ({ name, input: name === 'helper' ? { prompt: 'Help.', reason: 'Long.' } : {} })),
        },
  );
const plain = (name = 'plain') => defineAgent({ name, models: [rehearsalModel(() => report())] });
const begun = (agent: Agent) => ({ agent: agent.name, prompt: 'Go.' });

it('D-3: who reads the engine’s journal finds the session’s steps by their names', async () => {
  const { engine } = await lived(everyStep());
  const names = engine.commands('s').map((what) => what.replace(/ \{.*| \d+$/, ''));
  expect(names).toMatchInlineSnapshot(`
    [
      "run begin",
      "get message-1",
      "sleep deadline",
      "run mark prepare",
      "run prepare",
      "run mark turn-1/plan",
      "run turn-1/plan",
      "run mark turn-1/attempt-1/model",
      "run turn-1/attempt-1/model",
      "run mark turn-1/attempt-1/tool-0 turn-1/attempt-1/tool-1",
      "run turn-1/attempt-1/tool-0",
      "run turn-1/attempt-1/tool-1",
      "run mark turn-2/plan",
      "run turn-2/plan",
      "run mark turn-2/attempt-1/model",
      "run turn-2/attempt-1/model",
      "run mark lines",
      "run lines",
      "sleep turn-2/attempt-2/wait",
      "run mark turn-2/attempt-2/model",
      "run turn-2/attempt-2/model",
      "get message-2",
      "run mark turn-2/attempt-2/tool-0",
      "run turn-2/attempt-2/tool-0",
      "run mark turn-3/plan",
      "run turn-3/plan",
      "run mark turn-3/attempt-1/model",
      "run turn-3/attempt-1/model",
      "sleep turn-3/attempt-1/tool-0",
      "get message-3",
      "run mark turn-4/plan",
      "run turn-4/plan",
      "run mark turn-4/attempt-1/model",
      "run turn-4/attempt-1/model",
      "run mark lines",
      "run lines",
      "run mark turn-4/attempt-2/model",
      "run turn-4/attempt-2/model",
      "call run s/call-6-0",
      "run now",
      "run mark turn-4/attempt-2/tool-0",
      "run turn-4/attempt-2/tool-0",
      "run mark turn-5/plan",
      "run turn-5/plan",
      "run mark turn-5/attempt-1/model",
      "run turn-5/attempt-1/model",
      "run mark turn-5/attempt-1/tool-0",
      "run turn-5/attempt-1/tool-0",
      "run mark turn-6/plan",
      "run turn-6/plan",
      "run mark turn-6/attempt-1/model",
      "run turn-6/attempt-1/model",
      "sleep turn-6/attempt-1/tool-0",
      "get message-4",
      "run mark turn-7/plan",
      "run turn-7/plan",
      "run mark turn-7/attempt-1/model",
      "run turn-7/attempt-1/model",
      "run mark close",
      "run close",
      "run mark lines",
      "run lines",
    ]
  `);
});

describe('D-3: options and messages', () => {
  const [one, two] = [plain('one'), plain('two')];
  it.each([
    [{ agents: [one, two, two] }, 'must have distinct names; got "two" twice'],
    [{ agents: [one], name: '1st' }, '`options.name` must be a name of letters'],
    [{ agents: [] }, '`options.agents` must be at least one agent'],
  ])('%# are refused as invalid options', (options, message) => {
    const error = errorOf(() => restateAgents(options));
    expect(error).toMatchObject({ code: 'invalid_options', message: expect.stringContaining(message) });
  });

  it('a message whose promise is taken uses the next one; other failures are its own', async () => {
    const { message } = handlersOf({ agents: [one] });
    const resolved: string[] = [];
    const context = (failures: Record<string, Error>) => ({
      date: { now: async () => 1_000 },
      promise: (name: string) => ({
        resolve: async ({ at }: { at: number }) => {
          if (failures[name] !== undefined) throw failures[name];
          resolved.push(`${name} at ${at}`);
        },
      }),
    });
    const taken = new TerminalError('taken', { errorCode: 409 });
    const stop = { type: 'session.stop' };
    await message(context({ 'message-1': taken }), stop);
    expect(resolved).toEqual(['message-2 at 1000']);
    for (const other of [new TerminalError('gone', { errorCode: 410 }), Object.assign(new Error('odd'), { code: 409 })])
      await expect(message(context({ 'message-1': other }), stop)).rejects.toBe(other);
    expect(resolved).toHaveLength(1);
  });
});

describe('an attempt of the engine that is over', () => {
  it('T-6: aborts what its tools do', async () => {
    const signals: AbortSignal[] = [];
    const work = tool({
      inputSchema,
      execute: (_, { abortSignal }) => {
        if (abortSignal !== undefined) signals.push(abortSignal);
        return new Promise<string>((_resolve, reject) =>
          abortSignal?.addEventListener('abort', () => reject(abortSignal.reason)),
        );
      },
    });
    const agent = defineAgent({
      name: 'working',
      models: [calling('work')],
      tools: { work },
      limits: { maxRetries: 9 },
    });
    const engine = engineOf({ agents: [agent], logger: false });
    const run = engine.call('run', 's', begun(agent));
    await until(() => signals.length === 1);
    expect(signals[0]?.aborted).toBe(false);
    run.die();
    await until(() => run.hasEnded);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    // D-4: the tool is not run again.
    const { turns } = engine.resultOf('s') as SessionResult;
    expect(turns[0]?.attempts[0]?.calls).toMatchObject([
      { slug: 'interrupted', output: { value: expect.stringMatching(/^interrupted, outcome unknown/) } },
    ]);
  });
});

describe('the lines of a session on Restate', () => {
  it('O-3: a session without a listener has no WARN line', async () => {
    const { lines, logger } = keptLog();
    const agent = plain();
    const result = (await engineOf({ agents: [agent], logger }).returned('run', 's', begun(agent))) as SessionResult;
    assertInvariants(result);
    expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it('O-2: listeners hear of a logger that throws, and the session succeeds', async () => {
    const refusing = {
      debug: () => {},
      info: () => {},
      error: () => {},
      warn: () => {
        throw new Error('no room');
      },
    };
    const told: SessionEvent[] = [];
    let requests = 0;
    const model = rehearsalModel(() => {
      requests += 1;
      return requests === 1 ? {} : report();
    });
    const agent = defineAgent({ name: 'retrying', models: [model] });
    const onEvent = (event: SessionEvent) => void told.push(event);
    const engine = engineOf({ agents: [agent], logger: refusing, onEvent });
    const result = (await engine.returned('run', 's', begun(agent))) as SessionResult;
    assertInvariants(result);
    expect(result.counters).toMatchObject({ requests: 2, failedAttempts: 1 });
    expect(told.filter(({ type }) => type === 'observer.failed')).toMatchObject([
      { observer: 'logger', message: 'no room' },
    ]);
  });
});
