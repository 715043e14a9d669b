import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, PawlError, type ReportFormat, startSession } from '../../src/index.ts';
import { retryAfterMs } from '../../src/model/faults.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { callsIn, counters, report, run, runOverWire, tokensOf } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

const never = new Promise<never>(() => undefined);
const call = (name: string, input: unknown = {}) => ({ calls: [{ name, input }] });
const rehearsed = (replies: Parameters<typeof rehearsalModel>[0], over: object = {}) =>
  defineAgent({ name: 'hard', models: [rehearsalModel(replies)], ...over });

describe('what a server says', () => {
  it.each(['99999999999999999999', '9'.repeat(400)])(
    'P-3 F-5: Retry-After %s ends the session with a report',
    async (after) => {
      const { result } = await runOverWire({ script: [{ status: 429, headers: { 'retry-after': after } }] });
      expect(result.slugs).toContain('no_targets');
      expect(result.failure?.retryAt).toBeGreaterThan(0);
    },
  );

  it('N-1 F-4: an agent that finishes by text is told what was wrong with its text, and nothing of a tool', async () => {
    const { result, requests } = await runOverWire({
      script: [{ text: 'no JSON' }, { text: '{"a":1}' }],
      definition: { finish: 'text', report: { format: 'json', schema: z.object({ a: z.number() }) } },
    });
    expect(result.report.content).toEqual({ a: 1 });
    expect(result.turns[0]?.attempts[0]?.slugs).toEqual(['final_report_invalid_format']);
    const notice = requests[1]?.body.messages.at(-1)?.content;
    expect(notice).toContain('Read the reasons, and reply again in the required format.');
    expect(notice).not.toMatch(/text alone|tool call/);
  });

  it('P-3: a Retry-After that is no time is none', () => {
    expect(retryAfterMs({ 'retry-after': '-5' }, 0)).toBeNull();
    expect(retryAfterMs({ 'retry-after': 'soon' }, 0)).toBeNull();
  });

  it.each([
    [
      429,
      { code: 'rate_limit_exceeded', message: 'Rate limit reached. Visit /account/billing for more.' },
      'rate_limited',
    ],
    [429, { code: 'insufficient_quota', message: 'You exceeded your current quota.' }, 'provider_quota'],
    [503, { message: 'upstream billing-service unavailable' }, 'provider_error'],
    [400, { type: 'invalid_request_error', message: 'Your credit balance is too low.' }, 'provider_quota'],
  ])('P-1: %i with %j is %s', async (status, error, slug) => {
    const { result } = await runOverWire({ script: [{ status, error }, report()] });
    expect(result.turns[0]?.attempts[0]?.slugs).toEqual([slug]);
  });

  it('C-5: a connection that stays open after the finish is no broken reply', async () => {
    const { result } = await runOverWire({
      wire: 'anthropic',
      script: [{ ...report(), hang: { afterBytes: 100_000 } }],
      definition: { limits: { modelIdleTimeoutMs: 5_000 } },
    });
    expect(result.success).toBe(true);
    expect(result.counters.failedAttempts).toBe(0);
  });
});

describe('what code of the user does', () => {
  it('C-1: toModelOutput that hangs is answered at the timeout', async () => {
    const hanging = { inputSchema: z.object({}), execute: () => 'x', toModelOutput: () => never };
    const { result } = await run({
      agent: rehearsed([call('hanging'), report()], { tools: { hanging }, limits: { toolTimeoutMs: 50 } }),
    });
    expect(callsIn(result)[0]?.slug).toBe('tool_timeout');
  });

  it('C-1: an iterable that never waits cannot keep its timeout from coming', async () => {
    const busy = {
      inputSchema: z.object({}),
      execute: async function* () {
        for (;;) yield 1;
      },
    };
    const { result } = await run({
      agent: rehearsed([call('busy'), report()], { tools: { busy }, limits: { toolTimeoutMs: 50 } }),
    });
    expect(callsIn(result)[0]?.slug).toBe('tool_timeout');
  });

  it('C-1: a result that would take for ever to write down is cut', async () => {
    const wide = () => {
      let value: object = { a: 1 };
      for (let depth = 0; depth < 30; depth += 1) value = { left: value, right: value };
      return value;
    };
    const { result } = await run({ agent: rehearsed([call('wide'), report()], { tools: { wide } }) });
    expect(JSON.stringify(callsIn(result)[0]?.result)).toContain('left out');
  });

  it('C-3: what a tool says beside its value reaches the model', async () => {
    const saved = () => ({ success: true, value: null, message: 'Saved 3 files.' });
    const { result } = await run({ agent: rehearsed([call('saved'), report()], { tools: { saved } }) });
    expect(callsIn(result)[0]?.output).toEqual({ type: 'text', value: 'Saved 3 files.' });
  });

  it('S-5: neither a returned failure nor the value of an error shows a key', async () => {
    const leaky = () => ({
      success: false,
      value: { key: 'sk-abcdefghijklmnop1' },
      message: 'sk-abcdefghijklmnop1 is bad',
    });
    const { result, events } = await run({ agent: rehearsed([call('leaky'), report()], { tools: { leaky } }) });
    expect(JSON.stringify([result, events])).not.toContain('sk-abcdefghijklmnop1');
  });

  it('S-5: a header of any name is a secret, and so is what follows its scheme', async () => {
    const { result, events, lines } = await runOverWire({
      script: [{ status: 401, error: { message: 'hunter2hunter2 and opensesame1 are refused' } }],
      definition: { settings: { headers: { authorization: 'Bearer hunter2hunter2', 'x-auth': 'opensesame1' } } },
    });
    const everything = JSON.stringify([result, events, lines]);
    expect(everything).not.toContain('hunter2hunter2');
    expect(everything).not.toContain('opensesame1');
  });

  it('D-2: an approval at the very moment that it is asked for counts', async () => {
    const guarded = { inputSchema: z.object({ path: z.string() }), needsApproval: true, execute: () => 'done' };
    const { result, events } = await run({
      agent: rehearsed([call('guarded', { path: '/' }), report()], { tools: { guarded } }),
      during: (event, session) => {
        if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: true });
      },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, slug: null });
    expect(events.find((event) => event.type === 'tool.approvalRequested')).toMatchObject({ input: { path: '/' } });
  });

  it.each([
    ['needsApproval', 'yes'],
    ['needsApproval', 1],
  ])('approval fails closed: %s %j is refused when the agent is defined', (field, value) => {
    const tool = { inputSchema: z.object({}), execute: () => 'x', [field]: value };
    expect(() => rehearsed([report()], { tools: { tool } })).toThrow(`tools.tool.${field} is ${JSON.stringify(value)}`);
  });

  it('C-1: needsApproval that throws answers the call without running it, and blames nobody', async () => {
    const odd = {
      inputSchema: z.object({}),
      execute: () => 'x',
      needsApproval: () => {
        throw new Error('the policy server is down');
      },
    };
    const { result } = await run({ agent: rehearsed([call('odd'), report()], { tools: { odd } }) });
    expect(callsIn(result)[0]).toMatchObject({ executed: false, slug: 'tool_not_permitted' });
  });

  it('B-2: onDelivery and random that throw are told once each, and lose nothing', async () => {
    const fails = () => {
      throw new Error('disk full');
    };
    const { result, events } = await run({
      agent: rehearsed([report()]),
      options: { onDelivery: fails, random: fails },
    });
    expect(result.success).toBe(true);
    const failed = events.flatMap((event) => (event.type === 'observer.failed' ? [event.observer] : []));
    expect(failed).toEqual(expect.arrayContaining(['onDelivery', 'random']));
  });

  it.each([
    ['hang', () => never],
    ['throw', () => Promise.reject(new Error('no sk-abcdefghijklmnop1'))],
    ['be none', () => undefined],
  ])('instructions that %s end the session with a report', async (_how, instructions) => {
    const { result } = await run({
      agent: rehearsed([report()], { instructions, limits: { prepareTimeoutMs: 50 } }),
    });
    expect(result.slugs).toEqual(['internal_error']);
    expect(result.failure?.detail).toContain('the instructions could not be made');
    expect(JSON.stringify(result)).not.toContain('sk-abcdefghijklmnop1');
    expect(result.counters).toEqual(counters({ slugs: { internal_error: 1 } }));
  });

  it.each<[string, Partial<ReportFormat>]>([
    [
      'throws',
      {
        validate: () => {
          throw new Error('no');
        },
      },
    ],
    ['hangs', { validate: () => never }],
    ['gives no verdict', { validate: (() => true) as never }],
    [
      'cannot read',
      {
        parseText: () => {
          throw new Error('no');
        },
      },
    ],
  ])('F-2: a report format that %s rejects the report, by call and by text', async (_how, broken) => {
    const format: ReportFormat = {
      name: 'odd',
      description: 'Anything.',
      contentSchema: {},
      validate: (content) => ({ valid: true, content: String(content) }),
      parseText: (text) => ({ ok: true, content: text }),
      ...broken,
    };
    const { result } = await run({
      agent: rehearsed([{ text: 'Hi.' }], {
        report: { format },
        limits: { maxTurns: 1, maxRetries: 1, toolTimeoutMs: 50 },
      }),
    });
    expect(result.turns[0]?.attempts[0]?.slugs).toContain('final_report_schema_fail');
    expect(result.turns[0]?.attempts[0]?.reply).not.toBeNull();
  });
});

describe('what goes over the wire', () => {
  it('C-2: an id that not every provider accepts is replaced, in the call and in its answer', async () => {
    const { requests } = await runOverWire({
      script: [{ calls: [{ name: 'search', input: { q: 'x' }, id: 'functions.search:0' }] }, report()],
      definition: { tools: { search } },
    });
    expect(JSON.stringify(requests[1]?.body)).not.toContain('functions.search:0');
    expect(requests[1]?.body.messages.at(-1)?.tool_call_id).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  it('C-6: references in the schema of a report lead somewhere in the tool that carries it', async () => {
    type Tree = { name: string; children: Tree[] };
    const tree: z.ZodType<Tree> = z.object({
      name: z.string(),
      get children() {
        return z.array(tree);
      },
    });
    const { requests } = await runOverWire({
      script: [{ calls: [{ name: 'final_report', input: { content: { name: 'a', children: [] } } }] }],
      definition: { report: { format: 'json', schema: tree } },
    });
    const tools = JSON.stringify(requests[0]?.body.tools);
    const [{ function: declared }] = JSON.parse(tools);
    for (const [, pointer = ''] of tools.matchAll(/"\$ref":"#([^"]*)"/g)) {
      const keys = pointer.split('/').slice(1);
      const target = keys.reduce((at, key) => at?.[key], declared.parameters);
      expect([pointer, typeof target]).toEqual([pointer, 'object']);
    }
    expect(tools).toContain('$ref');
  });

  it("N-1: an agent that finishes by text is not told of a report tool that it doesn't have", async () => {
    const { requests } = await runOverWire({ script: [{}, { text: 'Hello.' }], definition: { finish: 'text' } });
    expect(JSON.stringify(requests[1]?.body.messages.at(-1))).not.toContain('final report');
  });

  it('steering that comes too late for a request is in the conversation all the same', async () => {
    const { result } = await runOverWire({
      script: [report()],
      during: (event, session) => {
        if (event.type === 'attempt.replied') session.steer('And be brief.');
      },
    });
    expect(JSON.stringify(result.conversation.at(-1))).toContain('And be brief.');
  });

  it('T-6: what the last turn asked for is not left out before the model has read it', async () => {
    const large = () => 'x'.repeat(8_000);
    const { requests } = await runOverWire({
      script: [
        { ...searchCall, usage: { input: 100, output: 5 } },
        { ...call('large'), usage: { input: 9_000, output: 5 } },
        report(),
      ],
      definition: { tools: { search, large }, limits: { contextWindow: 10_000 } },
    });
    expect(JSON.stringify(requests[2]?.body.messages.at(-2))).toContain('xxxx');
  });

  it('an abort says its reason', async () => {
    const { result, errors } = await runOverWire({
      script: [{ hang: true }],
      during: (event, session) => {
        if (event.type === 'attempt.started') session.abort('the user went away');
      },
    });
    expect(result.failure?.detail).toBe('the user went away');
    expect(errors[0]?.detail).toBe('the user went away');
    expect(result.counters.tokens).toEqual(tokensOf(0));
  });
});

describe('options that cannot be', () => {
  const agent = rehearsed([report()]);
  it.each<[unknown, string]>([
    [{ prompt: 'x', maxTurns: 1 }, 'maxTurns is not known: allowed are prompt, messages'],
    [undefined, 'the options are undefined'],
    [{ messages: 'abc' }, 'messages is "abc": an array of messages is allowed'],
    [
      {
        messages: [
          { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'cat.png' } }] },
        ],
      },
      'a URL that can be read is allowed',
    ],
    [
      {
        messages: [
          {
            role: 'tool',
            content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'b', output: { type: 'json', value: 1n } }],
          },
        ],
      },
      'BigInt',
    ],
  ])('%s', (options, message) => {
    expect(() => startSession(agent, options as never)).toThrow(PawlError);
    expect(() => startSession(agent, options as never)).toThrow(message);
  });

  it('what is no agent', () => {
    expect(() => startSession({} as never, { prompt: 'x' })).toThrow('one made by defineAgent is allowed');
  });

  it('a decision that is none', async () => {
    const session = startSession(agent, { prompt: 'x', clock: manualClock() });
    expect(() => session.approve('a', { approved: 'false' as never })).toThrow('approve was given');
    await session.result;
  });
});
