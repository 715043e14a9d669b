import { describe, expect, it } from 'vitest';
import { requestBound, userMessage } from '../../machines/index.ts';
import { type AgentDefinition, defineAgent, type SessionOptions } from '../../src/index.ts';
import { checkedOptions, checkedResumeOptions, sessionInput, startingConversation } from '../../src/session/input.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

const models = ['one', 'two'].map((modelId) => rehearsalModel([], { modelId }));
const agentOf = (more: Partial<AgentDefinition> = {}) => defineAgent({ name: 'a', models, ...more });
const journal = {
  ...{ leaseMs: 1, create: 1, append: 1, read: 1, lease: 1, renew: 1 },
  ...{ release: 1, post: 1, inbox: 1, list: 1, delete: 1, close: 1 },
};
const store = Object.fromEntries(
  Object.entries(journal).map(([name, value]) => [name, name === 'leaseMs' ? value : () => value]),
);

describe('B-1: the options of a session', () => {
  it.each<[unknown, string]>([
    [undefined, '`options` is required: an object with `prompt` or `messages`.'],
    ['Go.', '`options` must be an object with `prompt` or `messages`; got "Go.".'],
    [null, '`options` must be an object with `prompt` or `messages`; got null.'],
    [{ promt: 'Go.' }, 'Unknown option `promt`.'],
    [{ sessionId: ' ' }, '`sessionId` must be'],
    [
      { sessionId: 'a\0b' },
      '`sessionId` must be a well-formed text of at most 500 characters that is not blank and has no NUL; got',
    ],
    [{ sessionId: 'a'.repeat(501) }, '`sessionId` must be a well-formed text of at most 500 characters'],
    [{ sessionId: '\ud800' }, '`sessionId` must be a well-formed text'],
    [{ onDelivery: 1 }, '`onDelivery` must be a function; got 1.'],
    [{ signal: {} }, '`signal` must be an AbortSignal; got {}.'],
    [{ logger: true }, '`logger` must be a logger with debug, info, warn and error, or false for none; got true.'],
    [{ telemetry: {} }, '`telemetry` must be what openTelemetry() of pawl/otel returns; got {}.'],
    [{ clock: Date }, '`clock` must be a clock: { now, sleepUntil, alarm }; got'],
    [{ metadata: { user: null } }, '`metadata.user` must be a string, a number or a boolean'],
    [{ journal: {} }, '`journal` must be'],
  ])('%j is refused by its field', (options, message) => {
    expect(() => checkedOptions(agentOf(), options)).toThrow(expect.objectContaining({ code: 'invalid_options' }));
    expect(() => checkedOptions(agentOf(), options)).toThrow(message);
  });

  it('what was checked is what runs: each option is read once', () => {
    let reads = 0;
    const options = {
      get prompt() {
        reads += 1;
        return `Read ${reads} times.`;
      },
    };
    const checked = checkedOptions(agentOf(), options);
    expect([checked.prompt, checked.prompt, reads]).toEqual(['Read 1 times.', 'Read 1 times.', 1]);
    expect(() => checkedOptions(agentOf(), null)).toThrow(
      '`options` must be an object with `prompt` or `messages`; got null.',
    );
    expect(() => checkedOptions(agentOf(), [])).toThrow('`options` must be an object with `prompt` or `messages`');
  });

  it('what is no agent is refused, also to resume, which has options of its own', () => {
    for (const check of [checkedOptions, checkedResumeOptions])
      expect(() => check({ name: 'a' }, {})).toThrow('`agent` must be an agent made by defineAgent; got');
    expect(() => checkedResumeOptions(agentOf(), { journal: store, sessionId: 's', prompt: 'Go.' })).toThrow(
      'Unknown option `options.prompt`.',
    );
    expect(() => checkedResumeOptions(agentOf(), { sessionId: 's' })).toThrow('`options.journal`');
    expect(() => checkedResumeOptions(agentOf(), { journal: store })).toThrow('`options.sessionId`');
    expect(() => checkedResumeOptions(agentOf(), { journal: store, sessionId: 's', context: 5 })).not.toThrow();
    expect(() => checkedOptions(agentOf(), { prompt: 'Go.', journal: store, sessionId: 's' })).not.toThrow();
  });
});

describe('C-6: the messages that a session begins with', () => {
  const messages = (options: object) => startingConversation(options as SessionOptions);

  it('a prompt, messages, or both, the prompt last', () => {
    expect(messages({ prompt: 'Go.' })).toEqual({ messages: [userMessage('Go.')], repairs: null });
    expect(messages({ messages: [userMessage('One.')] })).toEqual({ messages: [userMessage('One.')], repairs: null });
    expect(messages({ messages: [{ role: 'user', content: 'One.' }], prompt: 'Two.' }).messages).toEqual([
      userMessage('One.'),
      userMessage('Two.'),
    ]);
  });

  it('what was repaired is counted', () => {
    const call = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} };
    const { messages: repaired, repairs } = messages({
      messages: [userMessage('One.'), { role: 'assistant', content: [call] }],
      prompt: 'Two.',
    });
    expect(repaired.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(Object.values(repairs ?? {}).reduce((sum, count) => sum + count, 0)).toBe(1);
  });

  it.each<[object, string, string]>([
    [{}, 'invalid_options', 'Pass `prompt`, or at least one message in `messages`.'],
    [{ messages: [] }, 'invalid_options', 'Pass `prompt`, or at least one message in `messages`.'],
    [{ messages: 'Go.' }, 'invalid_messages', '`messages` must be an array of messages; got "Go.".'],
    [{ prompt: ' ' }, 'invalid_options', '`prompt` must be a string that is not blank; got " ".'],
    [{ prompt: 5 }, 'invalid_options', '`prompt` must be a string that is not blank; got 5.'],
  ])('%j is refused', (options, code, message) => {
    expect(() => messages(options)).toThrow(expect.objectContaining({ code, message }));
  });
});

describe('B-1: the input of the machines', () => {
  it('the limits of the agent, and those of the budget from now on', () => {
    const agent = agentOf({ limits: { maxTurns: 3, maxRetries: 2, maxToolCallsPerTurn: 7 } });
    const targets = agent.targets.map(({ name }) => name);
    const input = {
      ...{ bound: { maxTurns: 3, maxRetries: 2 }, maxToolCalls: 7, targets, finish: 'report', at: 100 },
      ...{ window: { windowTokens: null, reserveTokens: 4_096 }, plansTurns: false },
      budget: { requests: null, tokens: null, costUsd: null, deadlineAt: null },
    };
    expect(sessionInput(agent, {}, 100)).toEqual(input);
    expect(sessionInput(agent, { requests: 4, tokens: 5, wallClockMs: 50 }, 100)).toEqual({
      ...input,
      budget: { requests: 4, tokens: 5, costUsd: null, deadlineAt: 150 },
    });
    expect(sessionInput(agentOf({ finish: 'text' }), {}, 0).finish).toBe('text');
  });

  it('a turn is planned if an agent prepares it, or if another may take over', () => {
    expect(sessionInput(agentOf({ prepareTurn: () => undefined }), {}, 0).plansTurns).toBe(true);
    const writer = agentOf({ name: 'writer' });
    expect(sessionInput(agentOf({ handoffs: { writer } }), {}, 0).plansTurns).toBe(true);
  });

  it('the longest reply of its agents is kept free in the window', () => {
    const limits = { contextWindow: 100_000 };
    const reserve = (settings: object | undefined, other: object | undefined) => {
      const writer = agentOf({ name: 'writer', ...(other !== undefined && { settings: other }) });
      const agent = agentOf({ limits, handoffs: { writer }, ...(settings !== undefined && { settings }) });
      return sessionInput(agent, {}, 0).window.reserveTokens;
    };
    expect(reserve(undefined, {})).toBe(4_096);
    expect(reserve({ maxOutputTokens: 10 }, undefined)).toBe(10);
    expect(reserve({ maxOutputTokens: 10 }, { maxOutputTokens: 20 })).toBe(20);
    expect(reserve(undefined, { maxOutputTokens: 15 })).toBe(15);
  });

  it('B-7: the requests of a tree are limited if there are sub-agents', () => {
    const requests = (agents: object, limits: object, budget = {}) =>
      sessionInput(agentOf({ agents: agents as never, limits }), budget, 0).budget.requests;
    const agents = { helper: agentOf({ name: 'helper' }) };
    const limits = { maxTurns: 3, maxRetries: 2 };
    expect(requests({}, { ...limits, maxTreeRequests: 5 })).toBeNull();
    expect(requests(agents, limits)).toBe(4 * requestBound(limits));
    expect(requests(agents, { ...limits, maxTreeRequests: 5 })).toBe(5);
    expect(requests(agents, { ...limits, maxTreeRequests: 5 }, { requests: 4 })).toBe(4);
    expect(requests(agents, { ...limits, maxTreeRequests: 5 }, { requests: 9 })).toBe(5);
  });

  it('a budget in US dollars needs the price of every model', () => {
    const [one = '', two = ''] = agentOf().targets.map(({ name }) => name);
    const price = { input: 1, output: 1 };
    expect(() => sessionInput(agentOf({ pricing: { [one]: price } }), { costUsd: 1 }, 0)).toThrow(
      `the \`pricing\` of "${agentOf().name}" has none for "${two}".`,
    );
    const pricing = { [one]: price, [two]: price };
    expect(sessionInput(agentOf({ pricing }), { costUsd: 1 }, 0).budget.costUsd).toBe(1);
    // B-7: siblings share the money, so theirs must be known, too.
    const agents = { below: defineAgent({ ...agentOf().definition, name: 'below', pricing: { [two]: price } }) };
    expect(() => sessionInput(agentOf({ pricing, agents }), { costUsd: 1 }, 0)).toThrow(
      expect.objectContaining({
        code: 'invalid_budget',
        message: `\`budget.costUsd\` needs a price for every model of the agent and its sub-agents; the \`pricing\` of "below" has none for "${one}".`,
      }),
    );
  });

  it.each<[unknown, string]>([
    [{ requests: 0 }, '`budget.requests` must be an integer of at least 1; got 0.'],
    [{ tokens: 0 }, '`budget.tokens` must be a number above 0; got 0.'],
    [{ costUsd: '1' }, '`budget.costUsd` must be a number above 0; got "1".'],
    [{ wallClockMs: -1 }, '`budget.wallClockMs` must be a number above 0; got -1.'],
    [{ euros: 1 }, 'Unknown option `budget.euros`.'],
  ])('the budget %j is refused', (budget, message) => {
    expect(() => sessionInput(agentOf(), budget as never, 0)).toThrow(
      expect.objectContaining({ code: 'invalid_budget', message: expect.stringContaining(message) }),
    );
  });
});
