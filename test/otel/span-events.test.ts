import { context, ROOT_CONTEXT, SpanStatusCode } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/index.ts';
import { openTelemetry } from '../../src/otel/open-telemetry.ts';
import { kept, tree } from '../support/otel.ts';

beforeAll(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

const position = { turn: 1, attempt: 1 };
const usage = { input: 5, output: 3, reasoning: 0, cacheRead: 0, cacheWrite: 0 };
let at = 1_000;
const event = (type: string, more: object = {}): SessionEvent => {
  at += 10;
  return { type, path: [], at, ...position, ...more } as unknown as SessionEvent;
};
const started = (more: object = {}) => event('attempt.started', { target: 'openai:gpt', notice: null, ...more });
const replied = (more: object = {}) => event('attempt.replied', { reply: null, usage, costUsd: null, ...more });
const call = { index: 0, callId: 'c', name: 'look' };
const answered = (more: object = {}) =>
  event('tool.answered', { ...call, executed: true, slug: null, result: { success: true }, output: {}, ...more });

const saying = (instructions: string | null) => ({
  messages: () => [],
  instructions: () => instructions,
  input: (at: number) => ({ at }),
});

function spansOf(
  events: SessionEvent[],
  { content = false, parent = null as null | object, id = 's', instructions = 'Be brief.' as string | null } = {},
) {
  const given = kept();
  const telemetry = openTelemetry({ ...given.providers, content });
  const about = { sessionId: id, agent: 'a', metadata: {}, parent, ...saying(instructions) };
  const session = telemetry.session(about as never);
  for (const one of events) session.event(one);
  return { ...given, telemetry, session, all: given.spans() };
}

const begin = [event('session.started'), event('turn.started', { isLastTurn: false })];

describe('pawl/otel: spans of a session’s events', () => {
  it('a request has what its reply says, and nothing that it does not say', () => {
    const bare = spansOf([...begin, started(), replied(), event('attempt.finished')]);
    const [plain] = bare.all;
    expect(plain?.name).toBe('chat gpt');
    expect(plain?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt',
      'gen_ai.conversation.id': 's',
      'pawl.turn': 1,
      'pawl.attempt': 1,
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.output_tokens': 3,
    });
    const reply = { content: [], finishReason: { unified: 'stop' }, responseId: 'r', modelId: 'gpt-1' };
    const begun = started();
    const full = spansOf([
      ...begin,
      begun,
      event('model.delta', { at: begun.at + 250 }),
      event('model.delta', { at: begun.at + 900 }),
      replied({ reply, costUsd: 0.5, usage: { ...usage, reasoning: 1, cacheRead: 2, cacheWrite: 3 } }),
      event('attempt.finished'),
    ]);
    expect(full.all[0]?.attributes).toMatchObject({
      'pawl.cost_usd': 0.5,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.id': 'r',
      'gen_ai.response.model': 'gpt-1',
    });
    const values = Object.entries(full.all[0]?.attributes ?? {}).filter(
      ([name]) => !(name in (plain?.attributes ?? {})),
    );
    expect(values.map(([, value]) => value)).toEqual(expect.arrayContaining([0.25, 1, 2, 3]));
    // If the clock is set back, nothing was there before it began.
    const early = started();
    const back = spansOf([
      ...begin,
      early,
      event('model.delta', { at: early.at - 5 }),
      replied(),
      event('attempt.finished'),
    ]);
    expect(Object.values(back.all[0]?.attributes ?? {})).toContain(0);
    // A reply without a finish reason, and a delta after its attempt, say nothing.
    const odd = { content: [], finishReason: null, responseId: null, modelId: null };
    const cut = spansOf([
      event('session.resumed'),
      event('model.delta'),
      started(),
      replied({ reply: odd }),
      event('attempt.finished'),
    ]);
    expect(Object.keys(cut.all[0]?.attributes ?? {})).toEqual(Object.keys(plain?.attributes ?? {}));
  });

  it('what fails ends with its slug; the next attempt of the turn is linked to it', () => {
    const { all } = spansOf([
      ...begin,
      started(),
      replied(),
      event('attempt.failed', { slugs: ['empty_response'], detail: 'nothing came' }),
      started({ attempt: 2 }),
      event('attempt.aborted'),
      event('turn.exhausted', { slugs: [] }),
      event('turn.started', { turn: 2, isLastTurn: true }),
      started({ turn: 2 }),
      event('session.failed', { failure: { slugs: ['retries_exhausted'], detail: 'all failed' } }),
    ]);
    const seen = all.map(({ name, status, attributes, links }) => [
      name,
      status.code === SpanStatusCode.ERROR ? status.message : null,
      attributes['error.type'] ?? null,
      links.length,
    ]);
    expect(seen).toEqual([
      ['chat gpt', 'nothing came', 'empty_response', 0],
      ['chat gpt', 'aborted', 'aborted', 1],
      ['turn 1', 'turn_exhausted', 'turn_exhausted', 0],
      ['chat gpt', 'all failed', 'retries_exhausted', 0],
      ['turn 2', 'retries_exhausted', 'retries_exhausted', 0],
      ['invoke_agent a', 'all failed', 'retries_exhausted', 0],
    ]);
    expect(all[2]?.attributes).toMatchObject({ 'pawl.turn': 1, 'pawl.last_turn': false });
    expect(all[4]?.attributes).toMatchObject({ 'pawl.turn': 2, 'pawl.last_turn': true });
    expect(all.at(-1)?.attributes).toMatchObject({ 'pawl.status': 'failed' });
    expect(all.at(-1)?.attributes).not.toHaveProperty('pawl.resumed');
  });

  it.each(['turn.progressed', 'turn.finished', 'turn.aborted'])('%s ends a turn without an error', (type) => {
    const { all } = spansOf([...begin, event(type), event('session.succeeded')]);
    expect(all.map(({ name, status }) => [name, status.code])).toEqual([
      ['turn 1', SpanStatusCode.UNSET],
      ['invoke_agent a', SpanStatusCode.UNSET],
    ]);
  });

  it('inputs, instructions and results are kept only if they are asked for', () => {
    const events = () => [
      ...begin,
      started({ notice: 'Report.' }),
      replied({ reply: { content: [], finishReason: null, responseId: null, modelId: null } }),
      event('tool.requested', { ...call, kind: 'real', input: {} }),
      event('tool.started', call),
      answered({ output: { type: 'text', value: 'seen' } }),
      event('tool.started', { ...call, index: 1, callId: 'd' }),
      answered({ index: 1, callId: 'd', slug: 'tool_exec_failed', result: { success: false, message: 'no' } }),
      answered({ index: 7, callId: 'unknown' }),
      event('attempt.finished'),
      started({ attempt: 2 }),
      event('attempt.finished'),
    ];
    const content = (all: readonly { attributes: object }[]) =>
      all.map(({ attributes }) =>
        Object.keys(attributes).filter((name) => /instructions|messages|arguments|result/.test(name)),
      );
    expect(content(spansOf(events()).all).flat()).toEqual([]);
    const { all } = spansOf(events(), { content: true });
    expect(all.map(({ name }) => name)).toEqual(['execute_tool look', 'execute_tool look', 'chat gpt', 'chat gpt']);
    expect(all[0]?.attributes).toMatchObject({
      'gen_ai.tool.call.id': 'c',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.arguments': '{"at":0}',
      'gen_ai.tool.call.result': '"seen"',
    });
    expect(all[1]?.attributes['gen_ai.tool.call.arguments']).toBe('{"at":1}');
    expect(all[1]).toMatchObject({ status: { message: 'no' }, attributes: { 'error.type': 'tool_exec_failed' } });
    expect(all[2]?.attributes).toMatchObject({
      'gen_ai.system_instructions': '[{"type":"text","content":"Be brief."}]',
      'gen_ai.input.messages': expect.stringContaining('Report.'),
      'gen_ai.output.messages': expect.any(String),
    });
    const without = spansOf([...begin, started(), event('attempt.aborted')], { content: true, instructions: null });
    expect(without.all[0]?.attributes).not.toHaveProperty('gen_ai.system_instructions');
  });

  it('a suspension ends the open spans without an error, and the span of a resumed session is marked', () => {
    const { all } = spansOf([
      event('session.resumed'),
      event('turn.started', { isLastTurn: false }),
      started(),
      event('tool.started', call),
      event('session.suspended', { failure: { slugs: ['suspended'], detail: null } }),
    ]);
    expect(all.map(({ name, status }) => [name, status.code])).toEqual(
      ['execute_tool look', 'chat gpt', 'turn 1', 'invoke_agent a'].map((name) => [name, SpanStatusCode.UNSET]),
    );
    expect(all.at(-1)?.attributes).toMatchObject({ 'pawl.resumed': true, 'pawl.status': 'suspended' });
    expect(tree(all)).toEqual([['invoke_agent a', ['turn 1', ['chat gpt', 'execute_tool look']]]]);
  });

  it('a session that its journal fails ends its spans with the reason', () => {
    const failure = { slugs: ['journal_failed'], detail: 'The disk is full.' };
    const { all } = spansOf([...begin, event('session.suspended', { failure })]);
    expect(all.at(-1)).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: 'The disk is full.' },
      attributes: { 'error.type': 'journal_failed', 'pawl.status': 'suspended' },
    });
  });

  it('a sub-agent’s session stands under its call, or under the session above; its events are not the session’s', () => {
    for (const [ended, above] of [
      [false, 'execute_tool look'],
      [true, 'invoke_agent a'],
    ] as const) {
      const { session, telemetry, spans } = spansOf([...begin, started(), event('tool.started', call)]);
      if (ended) session.event(answered());
      const parent = { sessionId: 's', callId: 'c' };
      const about = { sessionId: 's/c', agent: 'below', metadata: {}, parent, ...saying('Be brief.') };
      const below = telemetry.session(about);
      const first = event('session.started');
      session.event({ ...first, path: ['look'] } as never);
      below.event(first);
      below.event(event('session.succeeded'));
      session.event(event('session.succeeded'));
      const [own] = spans().filter(({ name }) => name === 'invoke_agent below');
      const over = spans().find((span) => span.spanContext().spanId === own?.parentSpanContext?.spanId);
      expect(over?.name).toBe(above);
      // A span that has ended is not used as a parent.
      const late = telemetry.session({ ...about, sessionId: 's/d' });
      context.with(ROOT_CONTEXT, () => late.event(event('session.started')));
      late.event(event('session.succeeded'));
      expect(spans().at(-1)?.parentSpanContext).toBeUndefined();
    }
  });
});
