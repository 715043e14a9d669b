import { describe, expect, it } from 'vitest';
import { type Agent, defineAgent, type SessionResult } from '../../src/index.ts';
import type { ScopeLog } from '../../src/journal/scope-log.ts';
import { newHead } from '../../src/session/head.ts';
import type { SubSession } from '../../src/session/sub-agents/sub-session.ts';
import { subSessionsOf } from '../../src/session/sub-agents/sub-sessions.ts';
import type { SessionIdentity, SessionParts } from '../../src/session/wiring/identity.ts';
import { surroundingsOf } from '../../src/session/wiring/surroundings.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import type { ToolRun } from '../../src/tools/catalog-tool.ts';

const models = [rehearsalModel([])];
const limits = { maxTurns: 2, maxRetries: 2 };
const leaf = defineAgent({ name: 'leaf', models, limits });
const nested = defineAgent({ name: 'nested', models, limits, agents: { leaf } });
const [target = ''] = leaf.targets.map(({ name }) => name);
const price = { input: 1, output: 2 };
const priced = defineAgent({ name: 'priced', models, limits, pricing: { [target]: price } });
const children = { leaf, nested, priced };

const at = 1_000_000;
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The sub-sessions of a session, and what each was begun with. */
function below(over: { budget?: object; agents?: Record<string, Agent>; options?: object; rest?: object } = {}) {
  const { budget = {}, agents = children, options = {}, rest = {} } = over;
  const agent = defineAgent({
    ...{ name: 'top', models, agents, limits: { maxTurns: 5, maxRetries: 2, maxTreeRequests: 100 } },
    pricing: { [target]: price },
  });
  const clock = manualClock({ start: at });
  const { head } = newHead(agent, 's', { prompt: 'Go.', budget, clock, metadata: { team: 'a' } });
  const told: unknown[] = [];
  const spent = { requests: 1, tokens: { input: 20, output: 10 }, costUsd: null as number | null };
  const observer = {
    counters: { tree: spent },
    position: 7,
    sight: (sighting: object) => told.push(sighting),
    forward: (event: object, name: string) => told.push([name, event]),
    moveTo: (position: number) => told.push(position),
  };
  const begun: SessionParts<unknown>[] = [];
  const above = {
    ...{ agent, head, secrets: ['a secret'], log: null, ...rest },
    around: surroundingsOf({ logger, clock, context: 'mine', ...options }),
    lineage: { parentSessionId: null, depth: 1, maxDepth: 9, secrets: [], resultAbove: () => null },
  } as unknown as SessionIdentity;
  const result = {
    sessionId: 'below',
    success: true,
    status: 'succeeded',
    report: { content: 1 },
    counters: { tree: spent },
  };
  const session = { sessionId: 'below', result: Promise.resolve(result as unknown as SessionResult) };
  const all = subSessionsOf(above, observer as never, (parts) => {
    begun.push(parts);
    return session as unknown as SubSession;
  });
  const call = async (name: keyof typeof children, { signal } = new AbortController()) => {
    const run = { callId: `call-${name}`, signal, account: () => {} } as unknown as ToolRun;
    await all?.subAgents.tool(name, children[name]).execute({ prompt: 'Sum.', reason: 'Long.' }, run);
    const parts = begun.at(-1);
    if (parts === undefined) throw new Error('nothing was begun');
    return parts;
  };
  return { all, begun, told, call, clock, spent, head, around: above.around };
}

describe('B-7: the sessions of sub-agents', () => {
  it('are made for an agent that has some', () => {
    expect(below({ agents: {} }).all).toBeNull();
    const { all } = below();
    expect([all?.agentOf('leaf'), all?.agentOf('toString')]).toEqual([leaf, undefined]);
  });

  it('begin with their task, the place of their call, and what the session above has', async () => {
    const { call, told, head, clock, around } = below();
    const parts = await call('leaf');
    expect(parts.head).toMatchObject({
      ...{ sessionId: 's/call-leaf', agent: 'leaf', prompt: 'Sum.', metadata: { team: 'a' } },
      call: { parent: '', callId: 'call-leaf', name: 'leaf', granted: { requests: 4, tokens: null, costUsd: null } },
    });
    const { signal, party, ...shared } = parts.around;
    expect(party).toBe(around.party);
    expect(shared).toEqual({
      ...{ logger: expect.anything(), clock, random: Math.random, context: 'mine' },
      ...{ priority: 0, sharedBudget: null },
    });
    expect(signal?.aborted).toBe(false);
    const resultAbove = expect.any(Function);
    expect(parts.lineage).toEqual({ parentSessionId: 's', depth: 2, maxDepth: 3, secrets: ['a secret'], resultAbove });
    expect(Object.keys(parts).toSorted()).toEqual(['agent', 'around', 'head', 'lineage', 'log', 'parent']);
    expect(told[0]).toEqual({
      type: 'subAgent.started',
      callId: 'call-leaf',
      name: 'leaf',
      childSessionId: 's/call-leaf',
    });
    expect(head.messages).toHaveLength(1);
  });

  it('share what the session above was given, but for what is told of the whole tree', async () => {
    const given = { random: () => 0.5, inspect: () => {}, telemetry: { session: () => ({}) as never } };
    const told = { onEvent: () => {}, onDelivery: () => {} };
    const driver = () => ({}) as never;
    const parts = await below({ options: { ...given, ...told }, rest: { driver } }).call('leaf');
    expect(parts.around).toMatchObject({ ...given, onEvent: undefined, onDelivery: undefined });
    expect(parts.driver).toBe(driver);
  });

  it('S-6: tell their events in the stream of the session above', async () => {
    const { call, told } = below();
    const { parent } = await call('leaf');
    expect(parent?.position()).toBe(7);
    parent?.moveTo(9);
    parent?.forward({ type: 'turn.started' } as never);
    expect(told.slice(-2)).toEqual([9, ['leaf', { type: 'turn.started' }]]);
  });

  it('say how they ended', async () => {
    const { call, told, spent } = below();
    await call('leaf');
    expect(told.at(-1)).toEqual({
      ...{ type: 'subAgent.ended', callId: 'call-leaf', name: 'leaf', childSessionId: 'below', status: 'succeeded' },
      counters: { tree: spent },
    });
  });

  const noBudget = { requests: null, tokens: null, costUsd: null, deadlineAt: null };

  it('get no budget where their own bound is all that limits them', async () => {
    expect((await below().call('leaf')).head.input.budget).toEqual(noBudget);
  });

  it('get what they were granted as their budget, if they have sub-agents of their own or were granted less', async () => {
    expect((await below().call('nested')).head.input.budget).toEqual({ ...noBudget, requests: 4 });
    const { head } = await below({ budget: { requests: 4 } }).call('leaf');
    expect(head.input.budget).toEqual({ ...noBudget, requests: 2 });
  });

  it('get the tokens that are left, of those that came and went', async () => {
    const { head } = await below({ budget: { tokens: 100 } }).call('leaf');
    expect(head.input.budget).toEqual({ ...noBudget, tokens: 70 });
  });

  it('get what is left of the money', async () => {
    const given = { budget: { costUsd: 8 }, agents: { priced } };
    const free = below(given);
    expect((await free.call('priced')).head.input.budget).toEqual({ ...noBudget, costUsd: 8 });
    const { spent, call } = below(given);
    spent.costUsd = 3;
    expect((await call('priced')).head.input.budget).toEqual({ ...noBudget, costUsd: 5 });
  });

  it('get a budget of what is limited, and no more', () => {
    const { all } = below();
    const nothing = { requests: null, tokens: null, costUsd: null };
    expect(all?.budgetOf(nested, nothing, at)).toStrictEqual({});
    expect(all?.budgetOf(nested, { ...nothing, requests: 3 }, at)).toStrictEqual({ requests: 3 });
    expect(all?.budgetOf(leaf, { requests: 4, tokens: 5, costUsd: 6 }, at)).toStrictEqual({ tokens: 5, costUsd: 6 });
    const timed = below({ budget: { wallClockMs: 5_000 } }).all;
    expect(timed?.budgetOf(nested, nothing, at)).toStrictEqual({ wallClockMs: 5_000 });
  });

  it('get the time that is left, and at least a moment', async () => {
    const { call, clock } = below({ budget: { wallClockMs: 5_000 } });
    clock.advance(2_000);
    expect((await call('leaf')).head.input.budget).toEqual({ ...noBudget, deadlineAt: at + 5_000 });
    clock.advance(9_000);
    expect((await call('leaf')).head.input.budget).toEqual({ ...noBudget, deadlineAt: at + 11_001 });
  });

  it('D-3: are written down as parts of the session above', async () => {
    const children: unknown[] = [];
    const own = { scope: 'a/b/own' };
    const log = {
      scope: 'a/b',
      child: (head: unknown) => {
        children.push(head);
        return own;
      },
    };
    const parts = await below({ rest: { log } }).call('leaf');
    expect([parts.log, children]).toEqual([own, [parts.head]]);
    expect(parts.head.call?.parent).toBe('a/b');
  });
});

describe('D-4: the sessions of sub-agents after a crash', () => {
  it('are made from their logs, with the grant that they had', async () => {
    const { all, call, head } = below();
    const own = (await call('leaf')).head;
    const log = { head: own, scope: 'call-leaf' } as unknown as ScopeLog;
    const session = { sessionId: 'again', tree: () => [] } as unknown as SubSession;
    let made: SessionParts<unknown> | null = null;
    const restored = all?.restore(log, (parts) => {
      made = parts;
      return session;
    });
    expect(restored).toBe(session);
    expect(made).toMatchObject({ agent: { name: 'leaf' }, head: own, log });
    const strange = (call: object | null) => ({ head: { ...head, call }, scope: 'call-x' }) as unknown as ScopeLog;
    for (const call of [null, { ...own.call, name: 'unknown' }])
      expect(() => all?.restore(strange(call), () => session)).toThrow('no sub-agent for call-x');
    const changed = { head: { ...own, tools: ['gone'] }, scope: 'call-leaf' } as unknown as ScopeLog;
    expect(() => all?.restore(changed, () => session)).toThrow(expect.objectContaining({ code: 'agent_changed' }));
  });
});
