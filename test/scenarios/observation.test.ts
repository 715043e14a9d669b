import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { defineAgent, type SessionEvent, slice, startSession } from '../../src/index.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { keptLog, report, run, runOverWire } from '../support/session.ts';
import { failing, search, searchCall } from '../support/tools.ts';

describe('the log', () => {
  it('S-2: each failed attempt logs one WARN line with the complete reply before the next one starts', async () => {
    const { warnings, lines } = await runOverWire({
      script: [{ text: 'only text', reasoning: 'because' }, { calls: [{ name: 'nope', input: { a: 1 } }] }, report()],
      definition: { tools: { search } },
    });
    expect(warnings.map(({ turn, attempt, target, slugs }) => ({ turn, attempt, target, slugs }))).toEqual([
      { turn: 1, attempt: 1, target: 'scripted:scripted', slugs: ['text_only'] },
      { turn: 1, attempt: 2, target: 'scripted:scripted', slugs: ['unknown_tool'] },
    ]);
    expect(warnings[0]?.reply).toMatchObject({
      text: 'only text',
      reasoning: 'because',
      finishReason: { unified: 'stop' },
    });
    expect(warnings[1]?.reply).toMatchObject({ toolCalls: [{ name: 'nope', input: '{"a":1}' }] });
    expect(lines.filter((line) => line.level > 30)).toHaveLength(2);
  });

  it('S-2: a reply over 131,072 bytes is cut to valid UTF-8 and marked as truncated', async () => {
    const { warnings } = await runOverWire({ script: [{ text: '€'.repeat(100_000) }, report()] });
    const text =
      Object.entries(warnings[0]?.reply ?? {}).flatMap(([name, value]) =>
        name === 'text' ? [String(value)] : [],
      )[0] ?? '';
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(131_072);
    expect(Buffer.byteLength(text)).toBeGreaterThan(131_000);
    expect(text).toMatch(/^€+$/);
    expect(warnings[0]?.truncated).toBe(true);
  });

  it('S-2: the cause of the failure comes first, so that no text, however long, hides it', async () => {
    const words = Array.from({ length: 40_000 }, (_, index) => index).join(' ');
    const { warnings } = await runOverWire({
      script: [{ text: words, reasoning: 'so', calls: [{ name: 'nope', input: { a: 1 } }] }, report()],
    });
    const logged = (warnings[0]?.reply ?? {}) as Record<string, unknown>;
    expect(Object.keys(logged)).toEqual(['finishReason', 'toolCalls', 'text', 'reasoning']);
    expect(logged.toolCalls).toMatchObject([{ name: 'nope', input: '{"a":1}' }]);
    expect(warnings[0]?.truncated).toBe(true);
  });

  it('S-3: a session that fails logs one ERROR line', async () => {
    const { errors } = await runOverWire({ script: [{}], definition: { limits: { maxRetries: 1 } } });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({
      event: 'session.failed',
      slugs: ['retries_exhausted', 'empty_response'],
      requests: 1,
    });
  });

  it('B-2: a logger that throws breaks nothing', async () => {
    const logger = pino({
      level: 'debug',
      hooks: {
        logMethod: () => {
          throw new Error('disk full');
        },
      },
    });
    const events: SessionEvent[] = [];
    const agent = defineAgent({ name: 'a', models: [rehearsalModel([{}, report()])] });
    const result = await startSession(agent, { prompt: 'p', logger, onEvent: (event) => events.push(event) }).result;
    expect(result.success).toBe(true);
    expect(events.some((event) => event.type === 'observer.failed' && event.observer === 'logger')).toBe(true);
  });
});

describe('the event stream', () => {
  const agent = () =>
    defineAgent({ name: 'a', models: [rehearsalModel([{ text: 'Hm.', ...searchCall }, report()])], tools: { search } });

  it('D-6: delivers all events in order, deltas included, and ends with the session', async () => {
    const session = startSession(agent(), { prompt: 'p', clock: manualClock() });
    const types: string[] = [];
    for await (const event of session.events) types.push(event.type);
    expect(types.filter((type) => type !== 'model.delta')).toEqual([
      'session.started',
      'session.prepared',
      'turn.started',
      'attempt.started',
      'attempt.replied',
      'tool.requested',
      'tool.started',
      'tool.answered',
      'attempt.progressed',
      'turn.progressed',
      'turn.started',
      'attempt.started',
      'attempt.replied',
      'report.accepted',
      'tool.requested',
      'tool.answered',
      'attempt.finished',
      'turn.finished',
      'session.succeeded',
    ]);
    expect(types).toContain('model.delta');
    expect((await session.result).success).toBe(true);
  });

  it('S-4: the counters are live while the session runs', async () => {
    const session = startSession(agent(), { prompt: 'p' });
    const seen: number[] = [];
    for await (const event of session.events)
      if (event.type === 'attempt.started') seen.push(session.counters.requests);
    expect(seen.at(-1)).toBe(2);
  });

  it('B-2: a listener that throws or rejects is reported once and breaks nothing', async () => {
    const events: SessionEvent[] = [];
    const session = startSession(agent(), {
      prompt: 'p',
      onEvent: (event) => {
        events.push(event);
        throw new Error('listener');
      },
    });
    expect((await session.result).success).toBe(true);
    expect(events.filter((event) => event.type === 'observer.failed')).toHaveLength(1);
    const rejecting = startSession(agent(), { prompt: 'p', onEvent: () => Promise.reject(new Error('later')) });
    expect((await rejecting.result).success).toBe(true);
  });

  it('D-2: a listener can abort the session while it handles an event', async () => {
    const controller = new AbortController();
    const session = startSession(agent(), {
      prompt: 'p',
      signal: controller.signal,
      logger: keptLog().logger,
      onEvent: (event) => {
        if (event.type === 'attempt.replied') controller.abort();
      },
    });
    expect((await session.result).status).toBe('aborted');
  });
});

describe('slices and records', () => {
  it('C-4: slices receive failed tool calls, and a slice that throws is isolated and reported once', async () => {
    const { result, events } = await runOverWire({
      script: [{ calls: [{ name: 'failing' }, ...searchCall.calls] }, report()],
      definition: {
        tools: { failing, search },
        slices: {
          failures: slice<string[]>([], (state, event) =>
            event.type === 'tool.answered' && !event.result.success ? [...state, event.name] : state,
          ),
          broken: slice(0, (state, event) => {
            if (event.type === 'tool.answered') throw new Error('reducer');
            return Number(state) + 1;
          }),
        },
      },
    });
    expect(result.slices.failures).toEqual(['failing']);
    expect(events.filter((event) => event.type === 'observer.failed')).toHaveLength(1);
    expect(result.success).toBe(true);
  });

  it('T-2: a progress report is published but does not count as progress', async () => {
    const { result, events } = await runOverWire({
      script: [
        { calls: [{ name: 'progress_report', input: { message: 'Half way.' } }] },
        { calls: [{ name: 'progress_report', input: { message: 'There.' } }, ...searchCall.calls] },
        report(),
      ],
      definition: { tools: { search }, builtIns: { progressReport: true } },
    });
    expect(result.turns[0]?.attempts.map((attempt) => attempt.slugs)).toEqual([['progress_only'], []]);
    expect(events.flatMap((event) => (event.type === 'progress.reported' ? [event.message] : []))).toEqual([
      'Half way.',
      'There.',
    ]);
    expect(result.counters.toolCalls).toMatchObject({ requested: 4, executed: 1, acknowledged: 3 });
  });

  it('C-6: invalid initial messages are repaired, and an event reports it', async () => {
    const { requests, events, result } = await runOverWire({
      script: [report()],
      options: {
        prompt: 'Go on.',
        messages: [
          { role: 'user', content: 'Before.' },
          {
            role: 'assistant',
            content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'search', input: { q: 'x' } }],
          },
          { role: 'assistant', content: '' },
          {
            role: 'tool',
            content: [
              { type: 'tool-result', toolCallId: 'zz', toolName: 'search', output: { type: 'text', value: 'orphan' } },
            ],
          },
        ],
      },
    });
    expect(requests[0]?.body.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(events.find((event) => event.type === 'conversation.repaired')).toMatchObject({
      repairs: { answered: 1, orphansDropped: 1, emptyDropped: 1 },
    });
    const again = await runOverWire({ script: [report()], options: { messages: result.conversation } });
    expect(again.events.some((event) => event.type === 'conversation.repaired')).toBe(false);
  });

  it('P-4: a tool that the provider executes is answered by the provider and counts as executed', async () => {
    const provided = rehearsalModel([{ text: 'x' }, report()]);
    const stream = provided.doStream.bind(provided);
    let first = true;
    const model = {
      ...provided,
      doStream: async (options: Parameters<typeof stream>[0]) => {
        if (!first) return stream(options);
        first = false;
        const call = {
          type: 'tool-call',
          toolCallId: 'ws',
          toolName: 'web_search',
          input: '{}',
          providerExecuted: true,
        } as const;
        const usage = {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        };
        return {
          stream: new ReadableStream({
            start(controller) {
              controller.enqueue(call);
              controller.enqueue({
                type: 'tool-result',
                toolCallId: 'ws',
                toolName: 'web_search',
                result: { hits: 3 },
              });
              controller.enqueue({ ...call, toolCallId: 'open' });
              controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage });
              controller.close();
            },
          }),
        };
      },
    };
    const { result } = await run({ agent: defineAgent({ name: 'a', models: [model] }) });
    expect(result.counters.toolCalls).toMatchObject({
      requested: 3,
      executed: 1,
      succeeded: 1,
      rejected: { interrupted: 1 },
    });
    expect(JSON.stringify(result.conversation)).toContain('"hits":3');
    expect(JSON.stringify(result.conversation)).not.toContain('lost');
  });
});
