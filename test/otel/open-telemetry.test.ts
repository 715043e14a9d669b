import { context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { tool } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, PawlError, startSession } from '../../src/index.ts';
import { openTelemetry } from '../../src/otel/open-telemetry.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { kept, traced, tree } from '../support/otel.ts';
import { counters, report, runOverWire, tokensOf, type WireSession } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

beforeAll(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

const inputSchema = z.object({});

const named = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name);

describe('pawl/otel', () => {
  it('S-4: spans session > turn > attempt > tool, with what each was; a failed attempt is an error', async () => {
    const clock = manualClock();
    const work = tool({
      inputSchema: z.object({ q: z.string() }),
      execute: () => {
        clock.advance(30);
        return 'found';
      },
    });
    const { all, result } = await traced({
      script: [{}, { ...searchCall, text: 'Looking.' }, report()],
      clock,
      definition: { name: 'librarian', tools: { search: work }, settings: { streaming: true } },
    });
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 3,
        failedAttempts: 1,
        notices: 1,
        toolCalls: { requested: 2, answered: 2, executed: 1, succeeded: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(3),
        costUsd: null,
        slugs: { empty_response: 1 },
      }),
    );
    expect(new Set(all.map(({ name }) => name))).toEqual(
      new Set(['invoke_agent librarian', 'turn 1', 'turn 2', 'chat scripted', 'execute_tool search']),
    );
    const [session] = named(all, 'invoke_agent librarian');
    expect(session).toMatchObject({
      kind: SpanKind.INTERNAL,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'librarian',
        'gen_ai.conversation.id': 'session-under-test',
        'pawl.status': 'succeeded',
      },
    });
    const [failed, second] = named(all, 'chat scripted');
    expect(failed).toMatchObject({
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.ERROR, message: 'empty_response' },
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'scripted',
        'gen_ai.request.model': 'scripted',
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 5,
        'gen_ai.response.finish_reasons': ['stop'],
        'error.type': 'empty_response',
        'pawl.turn': 1,
        'pawl.attempt': 1,
      },
    });
    // The next attempt points back: a span that has ended takes no links.
    expect(second?.links.map((link) => link.context.spanId)).toEqual([failed?.spanContext().spanId]);
    const [called] = named(all, 'execute_tool search');
    expect(called?.parentSpanContext?.spanId).toBe(second?.spanContext().spanId);
    expect(called?.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.call.id': expect.any(String),
      'gen_ai.tool.type': 'function',
    });
    expect(called?.duration).toEqual([0, 30_000_000]);
    // A request ends with its reply, not with the tools that it called.
    expect(second?.duration).toEqual([0, 0]);
    const [turn] = named(all, 'turn 1');
    expect(turn?.parentSpanContext?.spanId).toBe(session?.spanContext().spanId);
    expect(failed?.parentSpanContext?.spanId).toBe(turn?.spanContext().spanId);
    expect(JSON.stringify(all.map((span) => span.attributes))).not.toContain('Looking.');
  });

  it('a span of the application hangs where it belongs: in the tool, in the request, above the session', async () => {
    const given = kept();
    const inner = (name: string) => given.tracer.startActiveSpan(name, (span: Span) => span.end());
    const database = tool({
      inputSchema,
      execute: async () => {
        await new Promise(setImmediate);
        inner('SELECT');
        return 'row';
      },
    });
    const model = rehearsalModel([{ calls: [{ name: 'database', input: {} }] }, report()]);
    const { doStream } = model;
    model.doStream = async (options) => {
      inner('POST');
      return doStream.call(model, options);
    };
    const agent = defineAgent({
      name: 'clerk',
      models: [model],
      tools: { database },
      prepareTurn: () => void inner('prepare'),
    });
    await given.tracer.startActiveSpan('GET /report', async (span: Span) => {
      const options = { prompt: 'Go.', logger: false, telemetry: openTelemetry(given.providers) } as const;
      await startSession(agent, options).result;
      span.end();
    });
    const chat = `chat ${model.modelId}`;
    expect(tree(given.spans())).toEqual([
      [
        'GET /report',
        [
          'invoke_agent clerk',
          ['plan clerk', 'prepare'],
          ['turn 1', [chat, 'POST', ['execute_tool database', 'SELECT']]],
          ['plan clerk', 'prepare'],
          ['turn 2', [chat, 'POST']],
        ],
      ],
    ]);
  });

  it('B-7: the session of a sub-agent hangs in its call, also without a context manager', async () => {
    context.disable();
    try {
      const child = defineAgent({ name: 'child', models: [rehearsalModel([report()])] });
      const { all } = await traced({
        script: [{ calls: [{ name: 'child', input: { prompt: 'Look.', reason: 'It knows.' } }] }, report()],
        definition: { name: 'lead', agents: { child } },
      });
      const chat = 'chat scripted';
      expect(tree(all)).toEqual([
        [
          'invoke_agent lead',
          ['turn 1', [chat, ['execute_tool child', ['invoke_agent child', ['turn 1', 'chat script']]]]],
          ['turn 2', chat],
        ],
      ]);
    } finally {
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    }
  });

  it('S-5: content is recorded only when asked for, and never a secret', async () => {
    const wire: WireSession = {
      script: [{ ...searchCall, text: 'I know hunter2-hunter2.' }, {}, report()],
      definition: { tools: { search }, instructions: 'Be brief.', secrets: ['hunter2-hunter2'] },
      options: { prompt: 'What is hunter2-hunter2?' },
    };
    const off = await traced(wire);
    expect(JSON.stringify(off.all.map((span) => span.attributes))).not.toMatch(/Be brief|What is|found x/);
    const { all } = await traced(wire, { content: true });
    const text = JSON.stringify(all.map((span) => span.attributes));
    expect(text).not.toContain('hunter2-hunter2');
    const [first] = named(all, 'chat scripted');
    expect(first?.attributes['gen_ai.system_instructions']).toBe('[{"type":"text","content":"Be brief."}]');
    expect(JSON.parse(String(first?.attributes['gen_ai.input.messages']))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'What is [redacted]?' }] },
    ]);
    expect(JSON.parse(String(first?.attributes['gen_ai.output.messages']))).toMatchObject([
      {
        role: 'assistant',
        parts: [{ type: 'text' }, { type: 'tool_call', name: 'search' }],
        finish_reason: 'tool-calls',
      },
    ]);
    const [called] = named(all, 'execute_tool search');
    expect(called?.attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"q":"x"}',
      'gen_ai.tool.call.result': '"found x"',
    });
  });

  it('content names the files of a result, and metadata holds no secret', async () => {
    const data = Buffer.from('PICTURE BYTES').toString('base64');
    const value = [
      { type: 'text' as const, text: 'the picture' },
      { type: 'file-data' as const, mediaType: 'image/png', data },
    ];
    const shot = tool({
      inputSchema: z.object({}),
      execute: () => 1,
      toModelOutput: () => ({ type: 'content', value }),
    });
    const wire = {
      script: [{ calls: [{ name: 'shot', input: {} }] }, report()],
      definition: { tools: { shot }, secrets: ['hunter2-hunter2'] },
      options: { metadata: { user: 'hunter2-hunter2' } },
    };
    const { all } = await traced(wire, { content: true });
    const text = JSON.stringify(all.map((span) => span.attributes));
    expect(text).not.toContain(data);
    expect(text).not.toContain('hunter2');
    const [called] = named(all, 'execute_tool shot');
    expect(JSON.parse(String(called?.attributes['gen_ai.tool.call.result']))).toEqual([
      { type: 'text', content: 'the picture' },
      { type: 'file', mime_type: 'image/png' },
    ]);
  });

  it.each([
    ['fails', { script: [{}, {}], definition: { limits: { maxRetries: 2 } } }, 'failed', 'retries_exhausted'],
    [
      'is aborted',
      {
        script: [{ hang: true } as object],
        during: (event, session) => event.type === 'attempt.started' && session.abort(),
      },
      'aborted',
      'aborted',
    ],
  ] satisfies [string, WireSession, string, string][])(
    'every span ends when the session %s',
    async (_how, wire, status, slug) => {
      const { all, result } = await traced(wire);
      expect(result.status).toBe(status);
      const [session] = named(all, 'invoke_agent tested');
      expect(session).toMatchObject({
        status: { code: SpanStatusCode.ERROR },
        attributes: { 'error.type': slug, 'pawl.status': status },
      });
      expect(all.every(({ ended }) => ended)).toBe(true);
      expect(named(all, 'turn 1')).toHaveLength(1);
    },
  );

  it('a telemetry that throws is reported as an event, and harms nothing', async () => {
    const telemetry = {
      session: () => ({
        event: () => {
          throw new Error('exporter down');
        },
        around: <T>(_key: string, work: () => Promise<T>) => work(),
      }),
    };
    const { result, events } = await runOverWire({ script: [report()], options: { telemetry } });
    expect(result.success).toBe(true);
    expect(events.filter(({ type }) => type === 'observer.failed')).toMatchObject([
      { observer: 'telemetry', message: 'exporter down' },
    ]);
  });

  it('without providers it does nothing; what is no provider is refused', async () => {
    const { result } = await runOverWire({ script: [report()], options: { telemetry: openTelemetry() } });
    expect(result.success).toBe(true);
    expect(trace.getActiveSpan()).toBeUndefined();
    expect(() => openTelemetry({ tracerProvider: {} as never })).toThrow(PawlError);
    const agent = defineAgent({ name: 'x', models: [rehearsalModel([])] });
    expect(() => startSession(agent, { prompt: 'Go.', telemetry: true as never })).toThrow(
      '`telemetry` must be what openTelemetry() of pawl/otel returns; got true.',
    );
  });
});
