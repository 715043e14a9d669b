import { describe, expect, it } from 'vitest';
import { oversizedFinish } from '../../machines/index.ts';
import { withText } from '../../src/model/reply/with-text.ts';
import { call, meta, read, text } from '../support/read-parts.ts';

const finish = (unified: string, raw?: string, usage?: object) => ({
  type: 'finish',
  finishReason: { unified, raw },
  usage,
});

describe('P-4: the other parts of a reply', () => {
  it('are kept as they come', () => {
    const url = new URL('https://example.com/a.png');
    const source = { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' };
    const { reply, deltas } = read(
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2]) }, ...meta({ a: 1 }) },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'url', url } },
      { type: 'file', mediaType: 'image/png', data: 'AQI=' },
      { type: 'file', data: new Uint8Array([1, 2]) },
      source,
      { type: 'custom', kind: 'own.mark', ...meta({ b: 2 }) },
      { type: 'tool-result', toolCallId: 'x', toolName: 'look', result: { a: 1 }, ...meta({ c: 3 }) },
      { type: 'tool-result', toolCallId: 'y', toolName: 'look', result: undefined, isError: true },
      { type: 'tool-result', toolCallId: 'x', toolName: 'look', result: 'half', preliminary: true },
    );
    const data = { type: 'data', data: 'AQI=' };
    const options = (own: object) => ({ providerOptions: { own } });
    expect(reply.content).toEqual([
      { type: 'file', mediaType: 'image/png', data, ...options({ a: 1 }) },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'file', mediaType: 'image/png', data },
      { type: 'file', mediaType: '', data },
      { type: 'source', source },
      { type: 'custom', kind: 'own.mark', ...options({ b: 2 }) },
      { type: 'tool-result', callId: 'x', name: 'look', result: { a: 1 }, isError: false, ...options({ c: 3 }) },
      { type: 'tool-result', callId: 'y', name: 'look', result: null, isError: true },
    ]);
    expect(deltas).toEqual([]);
  });

  it('unknown, malformed or unusable parts become warnings', () => {
    const { reply } = read(
      { type: 'stream-start', warnings: [{ type: 'other', message: 'slow' }] },
      { type: 'stream-start' },
      { type: 'hologram' },
      { type: 'file', mediaType: 'image/png' },
      { type: 'custom', kind: 7 },
      { type: 'tool-approval-request', toolCallId: 'x' },
      { type: 'ping' },
      { type: 'raw', rawValue: 1 },
    );
    expect(reply.content).toEqual([]);
    expect(reply.warnings).toEqual([
      '{"type":"other","message":"slow"}',
      'skipped an unknown part: {"type":"hologram"}',
      'skipped a malformed part: {"type":"file","mediaType":"image/png"}',
      'skipped a malformed part: {"type":"custom","kind":7}',
      'the provider requested approval of call x, which is not supported',
    ]);
  });

  it('say which response it is, the last of each kind', () => {
    const { reply, reader } = read(
      { type: 'response-metadata', id: 'r1', modelId: 'm1' },
      { type: 'response-metadata', id: 'r2' },
      { type: 'response-metadata', modelId: 'm2' },
      { type: 'error', error: 'one' },
      { type: 'error', error: 'two' },
    );
    expect([reply.responseId, reply.modelId]).toEqual(['r2', 'm2']);
    expect(reader.errors).toEqual(['one', 'two']);
    expect(read().reply).toEqual({
      provider: 'own',
      content: [],
      finishReason: null,
      openInputs: [],
      errors: [],
      warnings: [],
      responseId: null,
      modelId: null,
    });
    expect(reader.reply('own', ['three']).errors).toEqual(['three']);
  });

  it.each([
    ['stop', undefined, []],
    ['other', 'end_turn', []],
    ['other', 'rested', ['the finish reason "rested" is unknown; the reply was taken as complete']],
    ['rested', undefined, ['the finish reason "rested" is unknown; the reply was taken as complete']],
  ])('the finish reason %j, %j', (unified, raw, warnings) => {
    const { reply } = read(finish(unified, raw));
    expect(reply.finishReason).toEqual({ unified, raw: raw ?? null });
    expect(reply.warnings).toEqual(warnings);
  });

  it('a finish reason that is no text counts as none', () => {
    const { reply } = read({ type: 'finish', finishReason: { unified: 7, raw: { x: 1 } } });
    expect(reply.finishReason).toEqual({ unified: 'other', raw: null });
    const its = read({ type: 'finish', finishReason: { raw: 'end_turn' } }).reply;
    expect(its.finishReason).toEqual({ unified: 'other', raw: 'end_turn' });
    expect(read({ type: 'response-metadata', id: 7, modelId: {} }).reply).toMatchObject({
      responseId: null,
      modelId: null,
    });
  });

  it('a reply that is cut off says so', () => {
    const { reader } = read(finish('stop'));
    reader.finishReason = oversizedFinish;
    expect(reader.reply('own', []).finishReason).toEqual({ unified: 'other', raw: 'reply_too_large' });
  });
});

describe('the tokens of a reply', () => {
  const tokens = (input: object | undefined, output: object | undefined) =>
    read(finish('stop', undefined, { inputTokens: input, outputTokens: output })).reader.usage;
  const none = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 };

  it('are those that the provider counts, or the sum of their parts', () => {
    expect(tokens({ total: 10, cacheRead: 3, cacheWrite: 2, noCache: 1 }, { total: 7, reasoning: 4, text: 1 })).toEqual(
      { input: 10, output: 7, reasoning: 4, cacheRead: 3, cacheWrite: 2 },
    );
    expect(tokens({ cacheRead: 3, cacheWrite: 2, noCache: 1 }, { reasoning: 4, text: 1 })).toEqual({
      input: 6,
      output: 5,
      reasoning: 4,
      cacheRead: 3,
      cacheWrite: 2,
    });
  });

  it('count as none if the count is invalid', () => {
    for (const total of [-1, Number.NaN, Number.POSITIVE_INFINITY, '7', null])
      expect(tokens({ total }, { total })).toEqual(none);
    expect(read(finish('stop')).reader.usage).toEqual(none);
  });

  it('are not forgotten by a second finish part without any', () => {
    const usage = { inputTokens: { total: 1 }, outputTokens: {} };
    const { reader } = read(finish('stop', undefined, usage), finish('length'));
    expect(reader.usage.input).toBe(1);
    expect(reader.reply('own', []).finishReason?.unified).toBe('length');
    const even = { inputTokens: { total: 2 }, outputTokens: { total: 2 } };
    expect(read(finish('stop', undefined, even)).reader.usage).toMatchObject({ input: 2, output: 2 });
  });
});

describe('the size of a reply', () => {
  const sizeOf = (...parts: unknown[]) => read(...parts).reader.size;

  it('counts bytes, and something for each part', () => {
    expect(sizeOf(text('0', 'abé'))).toBe(4);
    expect(sizeOf({ type: 'reasoning-delta', id: '0', delta: 'ab', ...meta({}) })).toBe(2 + '{"own":{}}'.length);
    expect(sizeOf({ type: 'tool-input-delta', id: '0', delta: 'ab' })).toBe(2);
    expect(sizeOf({ type: 'ping' }, { type: 'raw' }, finish('stop'))).toBe(0);
    const source = { type: 'source', id: 's' };
    expect(sizeOf(source)).toBe(64 + JSON.stringify(source).length);
    expect(sizeOf({ type: 'source', size: 1n })).toBeGreaterThan(64);
    expect(sizeOf({ type: 'file', data: { type: 'data', data: 'AQI=' } })).toBe(4);
    expect(sizeOf({ type: 'reasoning-file', data: { type: 'data' } })).toBe(0);
    expect(sizeOf({ type: 'file', data: { type: 'url', url: 'a:b' } })).toBe(64);
    expect(sizeOf(call('x', 'four'))).toBe(64 + 4);
    expect(sizeOf(call('x', { a: 1 }))).toBe(64 + 7);
  });

  it('counts an input once, though the call repeats it', () => {
    const begun = [
      { type: 'tool-input-start', id: 'x', toolName: 'l' },
      { type: 'tool-input-delta', id: 'x', delta: '{"a":1}' },
    ];
    const before = sizeOf(...begun);
    expect(sizeOf(...begun, call('x', '{"a":1}'))).toBe(before + 64);
    expect(sizeOf(...begun, call('x', '{"a":1,"b":2}'))).toBe(before + 64 + 6);
    expect(sizeOf(...begun, call('y', '{"a":1}'))).toBe(before + 64 + 7);
  });
});

describe('G-2: a reply with another text', () => {
  const { reply } = read({ type: 'reasoning', text: 'Hm' }, { type: 'text', text: 'one' }, call('x'), {
    type: 'text',
    text: 'two',
  });
  const said = (content: readonly { type: string; text?: string }[]) => content.map((part) => part.text ?? part.type);

  it('has it where its first text was, and none of its own', () => {
    const changed = withText(reply, 'new');
    expect(said(changed.content)).toEqual(['Hm', 'new', 'tool-call']);
    expect(changed.content[1]).toEqual({ type: 'text', text: 'new', ended: true });
    expect({ ...changed, content: [] }).toEqual({ ...reply, content: [] });
    expect(said(withText(reply, '').content)).toEqual(['Hm', 'tool-call']);
  });

  it('has it at the end if it had none', () => {
    const silent = read(call('x')).reply;
    expect(said(withText(silent, 'new').content)).toEqual(['tool-call', 'new']);
    expect(withText(silent, '').content).toEqual(silent.content);
  });
});
