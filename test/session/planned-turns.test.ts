import { describe, expect, it } from 'vitest';
import { emptyCounters, type Message, userMessage } from '../../machines/index.ts';
import { systemClock } from '../../src/host/clock.ts';
import { type AgentDefinition, defineAgent } from '../../src/index.ts';
import { Conversation } from '../../src/observe/conversation.ts';
import { type PlanParts, planTurn } from '../../src/session/effects/plan.ts';
import { madeInstructions, type PrepareParts, prepare } from '../../src/session/effects/prepare.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { search } from '../support/tools.ts';

const { signal } = new AbortController();
const models = ['one', 'two', 'three'].map((modelId) => rehearsalModel([], { modelId }));
const agentOf = (more: Partial<AgentDefinition> = {}) =>
  defineAgent({ name: 'a', models, tools: { search }, limits: { prepareTimeoutMs: 1_000 }, ...more });
const targetsOf = ({ targets }: ReturnType<typeof agentOf>) => targets.map(({ name }) => name);
const never = () => new Promise<never>(() => {});

function planning(agent: ReturnType<typeof agentOf>, more: Partial<PlanParts> = {}) {
  const conversation = new Conversation([userMessage('Go.')], agent.tools);
  const parts: PlanParts = {
    agent,
    prompt: 'Go.',
    contextFor: (speaker) => ({ of: speaker }),
    conversation,
    observer: { counters: emptyCounters() },
    catalog: { all: () => [...agent.tools.values()], get: () => undefined, offeredOf: () => [] } as never,
    window: { windowTokens: null, reserveTokens: 0 },
    meter: { growth: () => 0 } as never,
    clock: systemClock,
    secrets: ['hidden'],
    ...more,
  };
  const plan = (turn = 1, target = 0) => planTurn(parts, { turn, isLastTurn: false, target } as never, signal);
  return { parts, conversation, plan };
}

describe('T-7: the plan of a turn', () => {
  it('without changes it is the session’s own, and an agent alone has no targets of its own', async () => {
    const { plan } = planning(agentOf());
    const own = {
      speaker: null,
      targets: null,
      once: false,
      own: null,
      instructions: null,
      tools: null,
      offered: null,
      settings: null,
    };
    expect(await plan()).toEqual({ ok: true, plan: own, growth: 0 });
  });

  it('what `prepareTurn` changes holds for the turn; built-in tools stay', async () => {
    let told: object = {};
    const agent = agentOf({
      prepareTurn: (turn) => {
        told = { ...turn, messages: turn.messages };
        (turn.messages as Message[]).length = 0;
        return {
          ...{ activeTools: [], instructions: 'Be brief.', settings: { seed: 1 } },
          models: targetsOf(agent).slice(1).reverse(),
        };
      },
    });
    const growth = (instructions: string | null, tools: readonly object[]) =>
      (instructions?.length ?? 0) + tools.length;
    const offeredOf = (tools: readonly string[] | null) => tools ?? [];
    const catalog = { all: () => [...agent.tools.values()], get: () => undefined, offeredOf } as never;
    const { conversation, plan } = planning(agent, { meter: { growth } as never, catalog });
    expect(await plan(3)).toEqual({
      ok: true,
      growth: 9,
      plan: {
        ...{ speaker: null, targets: [2, 1], once: true, own: null },
        ...{ instructions: 'Be brief.', tools: ['final_report'], offered: null, settings: { seed: 1 } },
      },
    });
    expect(told).toMatchObject({ turn: 3, isLastTurn: false, context: { of: null }, counters: emptyCounters() });
    expect(conversation.messages).toHaveLength(1);
  });

  it.each<[string, AgentDefinition['prepareTurn'], string]>([
    [
      'throws',
      () => {
        throw new Error('no hidden thing');
      },
      'prepareTurn() failed before turn 2: no [redacted] thing',
    ],
    ['hangs', never, 'prepareTurn() failed before turn 2: it did not return within 200 ms'],
    [
      'names a tool that is not there',
      () => ({ activeTools: ['fly'] }),
      'prepareTurn() failed before turn 2: `activeTools[0]`',
    ],
  ])('a `prepareTurn` that %s is reported', async (_what, prepareTurn, message) => {
    const { plan } = planning(agentOf({ prepareTurn, limits: { prepareTimeoutMs: 200 } } as never));
    expect(await plan(2)).toEqual({
      ok: false,
      slug: 'turn_not_prepared',
      message: expect.stringContaining(message),
    });
  });

  it('T-8: an agent that was handed the conversation has its tools, its models in order, and its instructions once', async () => {
    let asked = 0;
    const [one, two] = models;
    const instructions = ({ prompt, context }: { prompt: string | null; context: unknown }) => {
      asked += 1;
      return `${prompt} ${JSON.stringify(context)}`;
    };
    const writer = agentOf({ name: 'writer', models: [one, two] as never, tools: {}, instructions });
    const agent = agentOf({ handoffs: { writer } });
    const { conversation, plan } = planning(agent);
    expect(await plan(1, 1)).toMatchObject({ plan: { speaker: null, targets: [0, 1, 2], own: null } });
    conversation.speaker = 'writer';
    const first = await plan(2, 1);
    const own = 'Go. {"of":"writer"}';
    expect(first).toMatchObject({ plan: { speaker: 'writer', targets: [0, 1], once: false, own } });
    expect((first as { plan: { tools: string[] } }).plan.tools).not.toContain('search');
    // In later turns it keeps the target that succeeded.
    conversation.fact({ type: 'turn.planned', turn: 2, ...(first as { plan: object }).plan } as never);
    expect(await plan(3, 1)).toMatchObject({ plan: { targets: [1, 0], own } });
    expect(await plan(3, 2)).toMatchObject({ plan: { targets: [0, 1], own } });
    expect(asked).toBe(1);
    // Of its models it has those that the session permits.
    const few = planning({ ...agent, targets: agent.targets.slice(1) } as never);
    few.conversation.speaker = 'writer';
    expect(await few.plan(2)).toMatchObject({ plan: { speaker: 'writer', targets: [0], tools: ['final_report'] } });
  });

  it('T-8: instructions that fail, and models that the session does not permit, are reported', async () => {
    const failing = agentOf({ name: 'writer', models: [models[0]] as never, instructions: () => 5 as never });
    const { conversation, plan } = planning(agentOf({ handoffs: { writer: failing } }));
    conversation.speaker = 'writer';
    expect(await plan(2)).toMatchObject({
      ok: false,
      message: 'instructions() failed before turn 2: `the result` must be a string; got 5.',
    });
    const narrow = agentOf({ handoffs: { writer: failing } });
    const { conversation: other, plan: planned } = planning({ ...narrow, targets: narrow.targets.slice(1) } as never);
    other.speaker = 'writer';
    expect(await planned(2)).toMatchObject({
      ok: false,
      message: expect.stringContaining('this session permits none of the models of writer'),
    });
  });
});

describe('G-1: what a session is prepared with', () => {
  const first = () => ({ tokens: 0, results: [], oldText: 0 });
  function preparing(more: Partial<PrepareParts> = {}) {
    const agent = agentOf();
    const parts: PrepareParts = {
      agent,
      prompt: 'Go.',
      contextFor: (speaker) => ({ of: speaker }),
      open: async () => null,
      conversation: new Conversation([userMessage('Go.')]),
      checks: { input: async () => ({ kind: 'passed', value: null }) } as never,
      meter: { first, of: () => ({ first }) } as never,
      clock: systemClock,
      secrets: ['hidden'],
      ...more,
    };
    return prepare(parts, signal);
  }
  const passing = (value: Message[] | null) => ({ input: async () => ({ kind: 'passed', value }) }) as never;

  it('its instructions, made for its task and its context', async () => {
    const nothing = { ok: true, messages: null, unavailable: [], tokens: 0, results: [], oldText: 0 };
    expect(await preparing()).toEqual({ ...nothing, instructions: null });
    expect(await preparing({ agent: agentOf({ instructions: 'Be brief.' }) })).toMatchObject({
      instructions: 'Be brief.',
    });
    const agent = agentOf({
      instructions: ({ prompt, context }) => `${prompt} ${JSON.stringify(context)}`,
    });
    expect(await preparing({ agent })).toMatchObject({ instructions: 'Go. {"of":null}' });
    // Messages that replace the given ones hold the task.
    const messages = [userMessage('Instead.')];
    expect(await preparing({ agent, checks: passing(messages) })).toMatchObject({
      instructions: 'Instead. {"of":null}',
      messages,
    });
  });

  it('the size of its first request, over the messages that it begins with', async () => {
    const first = (size: number) => ({ tokens: size, results: [{ callId: 'c', tokens: 1 }] });
    const meter = {
      first: () => first(1),
      of: (conversation: Conversation) => ({ first: () => first(conversation.messages.length) }),
    } as never;
    expect(await preparing({ meter })).toMatchObject(first(1));
    const messages = [userMessage('One.'), userMessage('Two.')];
    expect(await preparing({ meter, checks: passing(messages) })).toMatchObject(first(2));
  });

  it.each<[string, Partial<PrepareParts>, string, string]>([
    ['missing tools', { open: async () => 'no hidden server' }, 'tools_unavailable', 'no [redacted] server'],
    [
      'a denial',
      { checks: { input: async () => ({ kind: 'denied', reason: 'no hidden thing' }) } as never },
      'input_denied',
      'no [redacted] thing',
    ],
    [
      'a check that fails',
      { checks: { input: async () => ({ kind: 'failed', reason: 'it threw' }) } as never },
      'check_failed',
      'it threw',
    ],
    [
      'instructions that are no text',
      { agent: agentOf({ instructions: () => null as never }) },
      'turn_not_prepared',
      'instructions() failed: `the result` must be a string; got null.',
    ],
    [
      'instructions that hang',
      { agent: agentOf({ instructions: never, limits: { prepareTimeoutMs: 20 } }) },
      'turn_not_prepared',
      'instructions() failed: it did not return within 20 ms',
    ],
  ])('%s: it is not prepared', async (_what, more, slug, message) => {
    expect(await preparing(more)).toEqual({ ok: false, slug, message });
  });

  it('missing instructions and a text are used as they are', async () => {
    const limits = { clock: systemClock, timeoutMs: 10, signal };
    const input = { prompt: null, context: undefined };
    expect(await madeInstructions(null, input, limits)).toBeNull();
    expect(await madeInstructions(undefined, input, limits)).toBeNull();
    expect(await madeInstructions('', input, limits)).toBe('');
    expect(await madeInstructions(async () => 'made', input, limits)).toBe('made');
  });
});
