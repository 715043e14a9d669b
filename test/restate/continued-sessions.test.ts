import { tool } from 'ai';
import { describe, expect, it, vi } from 'vitest';
import { type Agent, defineAgent, type SessionEvent, type SessionResult } from '../../src/index.ts';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { RestateDriver } from '../../src/restate/restate-driver.ts';
import { SessionTools } from '../../src/session/effects/tools.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { inputSchema, until } from '../support/journaled.ts';
import { RestateEngine } from '../support/restate-engine.ts';
import { report } from '../support/session.ts';

vi.mock('@restatedev/restate-sdk', async (original) => {
  const { EnginePromise } = await import('../support/restate-attempt.ts');
  return { ...(await original<object>()), RestatePromise: EnginePromise, workflow: (definition: object) => definition };
});

const calling = (name: string, input: object = {}) =>
  rehearsalModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name, input }] },
  );

/** An engine that serves an agent, and what its sessions told. */
function serving(agent: Agent) {
  const told: SessionEvent[] = [];
  const onEvent = (event: SessionEvent) => void told.push(event);
  const { handlers } = restateAgents({ agents: [agent], logger: false, onEvent }) as never as { handlers: never };
  const engine = new RestateEngine(handlers);
  const begin = () => engine.call('run', 's', { agent: agent.name, prompt: 'Go.' });
  const of = (type: SessionEvent['type']) => told.filter((event) => event.type === type);
  const callId = (type: SessionEvent['type']) => of(type).map((event) => ('callId' in event ? event.callId : ''))[0];
  const say = (message: object) => engine.returned('message', 's', message);
  return { engine, told, begin, of, callId, say };
}

const task = { prompt: 'Help.', reason: 'Long.' };
const hour = 3_600_000;
const work = tool({ inputSchema });
const permitted = tool({ inputSchema, needsApproval: true, execute: () => 'done' });

describe('D-4: a process that continues a session on Restate', () => {
  it.each([
    [
      'an approval',
      'tool.approvalRequested',
      permitted,
      { approvalTimeoutMs: hour },
      { type: 'approve', approved: true, reason: null },
    ],
    [
      'an answer',
      'tool.handedOut',
      work,
      { clientToolTimeoutMs: hour },
      { type: 'answer', output: 'done', isError: false },
    ],
  ] as const)('tells its listener once what waits for %s', async (_, type, made, limits, message) => {
    const agent = defineAgent({ name: 'waiting', models: [calling('work')], tools: { work: made as never }, limits });
    const { engine, begin, of, callId, say } = serving(agent);
    const run = begin();
    await until(() => of(type).length === 1);
    run.die();
    await until(() => of(type).length === 2);
    expect(of(type)[1]).toMatchObject({ ...of(type)[0], seq: expect.any(Number), at: expect.any(Number) });
    await say({ ...message, callId: callId(type), sessionId: null });
    await until(() => run.hasEnded);
    expect([of(type).length, of('session.succeeded').length, engine.problems]).toEqual([2, 1, []]);
  });
});

it('D-3: a session that cannot begin ends its invocation, and says why', async () => {
  const agent = defineAgent({ name: 'plain', models: [rehearsalModel(() => report())] });
  const { engine } = serving(agent);
  await expect(engine.returned('run', 's', { agent: 'plain' })).rejects.toMatchObject({
    code: 400,
    message: expect.stringContaining('prompt'),
  });
});

describe('D-2: a cancelled invocation', () => {
  it('whose session has not begun ends with that session, which sends no request', async () => {
    const agent = defineAgent({ name: 'plain', models: [rehearsalModel(() => report())] });
    const { engine, begin, of } = serving(agent);
    const ended = new Promise<SessionResult>((resolve) =>
      begin().whenEnded(({ value }) => resolve(value as SessionResult)),
    );
    engine.cancel('s');
    const result = await ended;
    assertInvariants(result);
    expect([result.status, result.counters.requests, of('session.aborted')]).toMatchObject([
      'aborted',
      0,
      [{ failure: { detail: 'Cancelled' } }],
    ]);
  });
});

describe('D-2: what reaches a session on Restate', () => {
  it('an answer in time: its limit, which passes later, is no late effect', async () => {
    const models = [
      rehearsalModel(({ prompt }) => {
        const answered = prompt.filter(({ role }) => role === 'tool').length;
        return answered === 2 ? report() : { calls: [{ name: answered === 0 ? 'one' : 'two' }] };
      }),
    ];
    const tools = { one: work, two: work };
    const agent = defineAgent({ name: 'waiting', models, tools, limits: { clientToolTimeoutMs: hour } });
    const { engine, begin, of, told, say } = serving(agent);
    const run = begin();
    for (const number of [1, 2]) {
      await until(() => of('tool.handedOut').length === number);
      // The limit of the first call is reached after its answer, while the second one waits.
      if (number === 2) engine.timePasses();
      const event = of('tool.handedOut').at(-1);
      const callId = event !== undefined && 'callId' in event ? event.callId : '';
      await say({ type: 'answer', callId, output: 'done', isError: false, sessionId: null });
    }
    await until(() => run.hasEnded);
    expect(told.filter(({ type }) => type === 'effect.late')).toEqual([]);
  });

  it('steering: its sub-agent works on', async () => {
    const helper = defineAgent({ name: 'helper', models: [calling('work')], tools: { work: permitted } });
    const agent = defineAgent({ name: 'above', models: [calling('helper', task)], agents: { helper } });
    const { begin, of, told, callId, say } = serving(agent);
    const run = begin();
    await until(() => of('tool.approvalRequested').length === 1);
    await say({ type: 'session.steer', text: 'Be quick.' });
    await until(() => of('session.steered').length === 1);
    await say({
      type: 'approve',
      callId: callId('tool.approvalRequested'),
      approved: true,
      reason: null,
      sessionId: null,
    });
    await until(() => run.hasEnded);
    expect([of('session.stopping'), of('session.succeeded').length, told.at(-1)?.sessionId]).toEqual([[], 2, 's']);
  });

  it('a stop: its sub-agents hear of it, those included that begin later', async () => {
    const held = Promise.withResolvers<string>();
    let preparing = false;
    const instructions = () => {
      preparing = true;
      return held.promise;
    };
    const quick = defineAgent({ name: 'quick', models: [rehearsalModel(() => report())] });
    const slow = defineAgent({ ...quick.definition, name: 'slow', instructions });
    const calls = ['quick', 'slow'].map((name) => ({ name, input: task, id: name }));
    const models = [
      rehearsalModel(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? report() : { calls })),
    ];
    // One request is left for both: `quick` begins with what `slow` gives back.
    const agent = defineAgent({ name: 'above', models, agents: { quick, slow }, limits: { maxTreeRequests: 3 } });
    const { engine, begin, of, say } = serving(agent);
    const run = begin();
    await until(() => preparing);
    await say({ type: 'session.stop' });
    await until(() => of('session.stopping').length === 2);
    held.reject(new Error('there are no instructions'));
    await until(() => run.hasEnded);
    const told = engine.commands('s').filter((what) => /^(call run|send)/.test(what));
    expect(told.map((what) => what.replace(/^(call run \S+) .*/, '$1'))).toEqual([
      'call run s/slow',
      'send message s/slow {"type":"session.stop"}',
      'call run s/quick',
      'send message s/quick {"type":"session.stop"}',
    ]);
  });

  it('an abort: a sub-agent that waits for its grant does not begin, and its call is not performed', async () => {
    const hanging = rehearsalModel(() => ({ hangs: true }));
    const helper = defineAgent({ name: 'helper', models: [hanging] });
    const calls = [1, 2, 3].map(() => ({ name: 'helper', input: task }));
    const models = [rehearsalModel(() => ({ calls }))];
    // One request is left, and one of them has it.
    const agent = defineAgent({ name: 'above', models, agents: { helper }, limits: { maxTreeRequests: 3 } });
    const { engine, begin, of, say } = serving(agent);
    const run = begin();
    await until(() => hanging.requests.length === 1);
    await say({ type: 'session.abort', reason: 'enough' });
    await until(() => run.hasEnded);
    const performed = engine.commands('s').filter((what) => what.startsWith('run turn-1/attempt-1/tool'));
    expect([performed, of('subAgent.started').length, of('effect.late')]).toEqual([[], 1, []]);
  });
});

it('S-3: what cannot be closed when an attempt of the engine is over is told', async () => {
  const agent = defineAgent({ name: 'waiting', models: [calling('work')], tools: { work } });
  const { begin, of, callId, say } = serving(agent);
  const run = begin();
  await until(() => of('tool.handedOut').length === 1);
  vi.spyOn(SessionTools.prototype, 'closeServers').mockRejectedValueOnce(new Error('it does not close'));
  run.die();
  await until(() => of('observer.failed').length > 0);
  vi.restoreAllMocks();
  expect(of('observer.failed')).toMatchObject([{ observer: 'close', message: 'it does not close' }]);
  await say({ type: 'answer', callId: callId('tool.handedOut'), output: 1, isError: false, sessionId: null });
  await until(() => run.hasEnded);
});

it('D-3: a driver without a host is a defect', () => {
  const driver = new RestateDriver({} as never, 'nonce', 0, {} as never);
  expect(() => driver.start(() => {})).toThrow('the driver is not attached to a host');
});
