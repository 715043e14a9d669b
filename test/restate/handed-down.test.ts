import { tool } from 'ai';
import { expect, it, vi } from 'vitest';
import { type Agent, defineAgent, type SessionEvent, type SessionResult } from '../../src/index.ts';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { inputSchema, until } from '../support/journaled.ts';
import { RestateEngine } from '../support/restate-engine.ts';
import { keptLog, report } from '../support/session.ts';

vi.mock('@restatedev/restate-sdk', async (original) => {
  const { EnginePromise } = await import('../support/restate-attempt.ts');
  return { ...(await original<object>()), RestatePromise: EnginePromise, workflow: (definition: object) => definition };
});

type Own = { metadata: unknown; context: unknown };

/** Runs a session on Restate that nothing disturbs. */
async function ran(agent: Agent, given: object) {
  const heard: [SessionEvent, Own][] = [];
  const { lines, logger } = keptLog();
  const onEvent = (event: SessionEvent, own: Own) => void heard.push([event, own]);
  const { handlers } = restateAgents({ agents: [agent], logger, onEvent }) as never as { handlers: never };
  const engine = new RestateEngine(handlers);
  const result = (await engine.returned('run', 's', { agent: agent.name, ...given })) as SessionResult;
  assertInvariants(result);
  const types = heard.map(([{ type }]) => type);
  return { result, heard, lines, types, commands: engine.commands('s') };
}

const calling = (name: string, input: object = {}) =>
  rehearsalModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name, input }] },
  );

it('B-7: a sub-agent has the context and the metadata of its session, if there are any', async () => {
  const helper = defineAgent({ name: 'helper', models: [rehearsalModel(() => report('Helped.'))] });
  const models = [calling('helper', { prompt: 'Help.', reason: 'Long.' })];
  const agent = defineAgent({ name: 'above', models, agents: { helper } });
  for (const own of [{ context: { user: 'ada' }, metadata: { tenant: 't' } }, {}]) {
    const { result, heard } = await ran(agent, { prompt: 'Go.', ...own });
    expect([result.success, result.counters.tree.sessions]).toEqual([true, 2]);
    const below = heard.filter(([{ sessionId }]) => sessionId.startsWith('s/')).map(([, its]) => its);
    expect(below.length).toBeGreaterThan(0);
    for (const its of below) expect(its).toEqual({ context: undefined, metadata: {}, ...own });
  }
});

it('C-6: what was repaired of the messages is told once, and of none nothing', async () => {
  const agent = defineAgent({ name: 'plain', models: [rehearsalModel(() => report())] });
  const open = { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'x', input: {} }] };
  const said = { role: 'user', content: 'Go.' };
  const repaired = await ran(agent, { messages: [said, open, said] });
  expect(repaired.types.filter((type) => type === 'conversation.repaired')).toHaveLength(1);
  expect((await ran(agent, { messages: [said] })).types).not.toContain('conversation.repaired');
});

it.each([
  ['an approval', { approvalTimeoutMs: 59_000 }, true, 'approval_timeout'],
  ['a client’s answer', { clientToolTimeoutMs: 59_000 }, false, 'tool_timeout'],
] as const)('D-3: the wait for %s is a durable sleep as long as its limit', async (_, limits, isOurs, slug) => {
  const work = tool({ inputSchema, ...(isOurs && { needsApproval: true, execute: () => 'done' }) } as object as never);
  const agent = defineAgent({ name: 'waiting', models: [calling('work')], tools: { work }, limits });
  const { result, commands } = await ran(agent, { prompt: 'Go.' });
  expect(result.turns[0]?.attempts[0]?.calls[0]?.slug).toBe(slug);
  const slept = commands.filter((what) => what.startsWith('sleep ')).map((what) => Number(what.split(' ').at(-1)));
  expect(slept).toEqual([59_000]);
});

it('D-4: a pending client-side call is handed out again by the process that continues the session', async () => {
  const work = tool({ inputSchema });
  const limits = { clientToolTimeoutMs: null };
  const agent = defineAgent({ name: 'waiting', models: [calling('work')], tools: { work }, limits });
  const told: string[] = [];
  const onEvent = (event: SessionEvent) => void (event.type === 'tool.handedOut' && told.push(event.callId));
  const { handlers } = restateAgents({ agents: [agent], logger: false, onEvent }) as never as { handlers: never };
  const engine = new RestateEngine(handlers);
  const run = engine.call('run', 's', { agent: 'waiting', prompt: 'Go.' });
  await until(() => told.length === 1);
  run.die();
  await until(() => told.length === 2);
  const [callId = ''] = told;
  expect(told[1]).toBe(callId);
  await engine.returned('message', 's', { type: 'answer', callId, output: 'done', isError: false, sessionId: null });
  await until(() => run.hasEnded);
  expect(told).toHaveLength(2);
  // Nothing limits the wait.
  expect(engine.commands('s').filter((what) => what.startsWith('sleep '))).toEqual([]);
});

it('D-5: the engine waits for a step as long as the agents allow any', () => {
  const limitOf = (agent: Agent) =>
    (restateAgents({ agents: [agent] }) as never as { options: { abortTimeout: number } }).options.abortTimeout;
  const models = [calling('work')];
  const plain = (limits: object) => defineAgent({ name: 'plain', models, limits });
  const short = { prepareTimeoutMs: 1_000, modelTimeoutMs: 5_000, toolTimeoutMs: 2_000 };
  expect(limitOf(plain(short))).toBe(600_000);
  // Tools are opened, then the reply comes and is checked.
  expect(limitOf(plain({ ...short, modelTimeoutMs: 7_200_000 }))).toBe(1_000 + 7_200_000 + 2_000);
  // The tools, the preparation and its check.
  expect(limitOf(plain({ ...short, prepareTimeoutMs: 7_200_000 }))).toBe(7_200_000 + 7_200_000 + 2_000);
  // Twenty calls in slots for eight: the last ones wait for two others. Each input is checked.
  expect(limitOf(plain({ ...short, toolTimeoutMs: 3_600_000 }))).toBe(1_000 + 3 * (3_600_000 + 3_600_000));
  const slow = { ...tool({ inputSchema, execute: () => 'done' }), timeoutMs: 9_000_000 };
  const helper = defineAgent({ name: 'helper', models, tools: { slow }, limits: short });
  const above = defineAgent({ name: 'above', models, agents: { helper }, limits: short });
  expect(limitOf(above)).toBe(1_000 + 3 * (2_000 + 9_000_000));
});
