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

describe('server responses', () => {
  it.each(['99999999999999999999', '9'.repeat(400)])(
    'P-3 F-5: Retry-After %s ends the session with a report',
    async (after) => {
      const { result } = await runOverWire({ script: [{ status: 429, headers: { 'retry-after': after } }] });
      expect(result.slugs).toContain('no_targets');
      expect(result.failure?.retryAt).toBeGreaterThan(0);
    },
  );

  it('N-1 F-4: an agent that finishes by text gets a notice about its text that mentions no tool', async () => {
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

  it('P-3: an invalid Retry-After is ignored', () => {
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
  ])('P-1: %i with %j is classified as %s', async (status, error, slug) => {
    const { result } = await runOverWire({ script: [{ status, error }, report()] });
    expect(result.turns[0]?.attempts[0]?.slugs).toEqual([slug]);
  });

  it('C-5: a connection that stays open after the finish does not break the reply', async () => {
    const { result } = await runOverWire({
      wire: 'anthropic',
      script: [{ ...report(), hang: { afterBytes: 100_000 } }],
      definition: { limits: { modelIdleTimeoutMs: 5_000 } },
    });
    expect(result.success).toBe(true);
    expect(result.counters.failedAttempts).toBe(0);
  });
});

describe('user code', () => {
  it('C-1: a call whose toModelOutput hangs is answered at the timeout', async () => {
    const hanging = { inputSchema: z.object({}), execute: () => 'x', toModelOutput: () => never };
    const { result } = await run({
      agent: rehearsed([call('hanging'), report()], { tools: { hanging }, limits: { toolTimeoutMs: 50 } }),
    });
    expect(callsIn(result)[0]?.slug).toBe('tool_timeout');
  });

  it('C-1: an iterable that never waits still times out', async () => {
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

  it('C-1: a result that would take too long to serialize is cut', async () => {
    const wide = () => {
      let value: object = { a: 1 };
      for (let depth = 0; depth < 30; depth += 1) value = { left: value, right: value };
      return value;
    };
    const { result } = await run({ agent: rehearsed([call('wide'), report()], { tools: { wide } }) });
    expect(JSON.stringify(callsIn(result)[0]?.result)).toContain('left out');
  });

  it('C-3: the message that a tool returns with its value reaches the model', async () => {
    const saved = () => ({ success: true, value: null, message: 'Saved 3 files.' });
    const { result } = await run({ agent: rehearsed([call('saved'), report()], { tools: { saved } }) });
    expect(callsIn(result)[0]?.output).toEqual({ type: 'text', value: 'Saved 3 files.' });
  });

  it('S-5: keys are redacted in returned failures and in error values', async () => {
    const leaky = () => ({
      success: false,
      value: { key: 'sk-abcdefghijklmnop1' },
      message: 'sk-abcdefghijklmnop1 is bad',
    });
    const { result, events } = await run({ agent: rehearsed([call('leaky'), report()], { tools: { leaky } }) });
    expect(JSON.stringify([result, events])).not.toContain('sk-abcdefghijklmnop1');
  });

  it('S-5: every configured header value is a secret, and so is the part after its scheme', async () => {
    const { result, events, lines } = await runOverWire({
      script: [{ status: 401, error: { message: 'hunter2hunter2 and opensesame1 are refused' } }],
      definition: { settings: { headers: { authorization: 'Bearer hunter2hunter2', 'x-auth': 'opensesame1' } } },
    });
    const everything = JSON.stringify([result, events, lines]);
    expect(everything).not.toContain('hunter2hunter2');
    expect(everything).not.toContain('opensesame1');
  });

  it('D-2: an approval given the moment it is requested counts', async () => {
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
    expect(() => rehearsed([report()], { tools: { tool } })).toThrow(`\`tools.tool.${field}\` must be `);
  });

  it('C-1: if needsApproval throws, the call does not run and is answered with tool_not_permitted', async () => {
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

  it('B-2: if onDelivery and random throw, each is reported once and nothing is lost', async () => {
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
    ['return undefined', () => undefined],
  ])('instructions that %s end the session with a report', async (_how, instructions) => {
    const { result } = await run({
      agent: rehearsed([report()], { instructions, limits: { prepareTimeoutMs: 50 } }),
    });
    expect(result.slugs).toEqual(['internal_error']);
    expect(result.failure?.detail).toContain('instructions() failed');
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
      'throws while parsing',
      {
        parseText: () => {
          throw new Error('no');
        },
      },
    ],
  ])('F-2: a report format that %s rejects the report, whether sent by call or as text', async (_how, broken) => {
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

describe('requests on the wire', () => {
  it('C-2: a call id that some providers reject is replaced in the call and in its answer', async () => {
    const { requests } = await runOverWire({
      script: [{ calls: [{ name: 'search', input: { q: 'x' }, id: 'functions.search:0' }] }, report()],
      definition: { tools: { search } },
    });
    expect(JSON.stringify(requests[1]?.body)).not.toContain('functions.search:0');
    expect(requests[1]?.body.messages.at(-1)?.tool_call_id).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  it('C-6: references in a report schema resolve within the tool that carries it', async () => {
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

  it('N-1: the notice to an agent that finishes by text does not mention the final report', async () => {
    const { requests } = await runOverWire({ script: [{}, { text: 'Hello.' }], definition: { finish: 'text' } });
    expect(JSON.stringify(requests[1]?.body.messages.at(-1))).not.toContain('final report');
  });

  it('steering that arrives too late for a request is still added to the conversation', async () => {
    const { result } = await runOverWire({
      script: [report()],
      during: (event, session) => {
        if (event.type === 'attempt.replied') session.steer('And be brief.');
      },
    });
    expect(JSON.stringify(result.conversation.at(-1))).toContain('And be brief.');
  });

  it('T-6: tool results are not dropped before the model has read them', async () => {
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

  it('an aborted session reports the reason for the abort', async () => {
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

describe('invalid options', () => {
  const agent = rehearsed([report()]);
  it.each<[unknown, string]>([
    [{ prompt: 'x', maxTurns: 1 }, 'Unknown option `maxTurns`.'],
    [undefined, '`options` is required: an object with `prompt` or `messages`.'],
    [{ messages: 'abc' }, '`messages` must be an array of messages; got "abc".'],
    [
      {
        messages: [
          { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'cat.png' } }] },
        ],
      },
      '`messages[0]` must be a user, assistant or tool message as the AI SDK has them (what a system message would sa',
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
  ])('%s is refused', (options, message) => {
    expect(() => startSession(agent, options as never)).toThrow(PawlError);
    expect(() => startSession(agent, options as never)).toThrow(message);
  });

  it('a value that is not an agent is refused', () => {
    expect(() => startSession({} as never, { prompt: 'x' })).toThrow(
      '`agent` must be an agent made by defineAgent; got {}.',
    );
  });

  it('an invalid approval decision is refused', async () => {
    const session = startSession(agent, { prompt: 'x', clock: manualClock() });
    expect(() => session.approve('a', { approved: 'false' as never })).toThrow(
      '`decision` must be { approved: boolean, reason?: string, sessionId?: string }; got {"approved":"false"}.',
    );
    await session.result;
  });
});
