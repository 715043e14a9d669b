import { describe, expect, it } from 'vitest';
import { call, meta, read, text } from '../support/read-parts.ts';

const callIds = ({ content }: { content: readonly { type: string; callId?: string }[] }) =>
  content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []));
describe('P-4: the texts of a reply', () => {
  it('are joined by kind and id, in the order in which they began, with their metadata', () => {
    const { reply, deltas } = read(
      { type: 'reasoning-start', id: '0', ...meta({ a: 1 }) },
      { type: 'text-start', id: '0' },
      text('0', 'He'),
      { type: 'reasoning-delta', id: '0', delta: 'Hm', ...meta({ b: 2 }) },
      text('0', 'llo'),
      { type: 'reasoning-end', id: '0', ...meta({ signature: 's' }) },
      { type: 'text-end', id: '0' },
    );
    expect(reply.content).toEqual([
      { type: 'reasoning', text: 'Hm', ended: true, providerOptions: { own: { a: 1, b: 2, signature: 's' } } },
      { type: 'text', text: 'Hello', ended: true },
    ]);
    expect(deltas.map(({ kind, part, delta }) => [kind, part, delta])).toEqual([
      ['text', 1, 'He'],
      ['reasoning', 0, 'Hm'],
      ['text', 1, 'llo'],
      ['reasoning', 0, ''],
      ['text', 1, ''],
    ]);
    expect(deltas[0]).toEqual({
      type: 'model.delta',
      turn: 2,
      attempt: 1,
      kind: 'text',
      part: 1,
      callId: null,
      toolName: null,
      delta: 'He',
    });
  });

  it('a delta without a start begins its part, and a part without an end stays open', () => {
    const { reply } = read(text('a', 'one'), { type: 'reasoning-delta', id: 'a', delta: 'two' });
    expect(reply.content).toEqual([
      { type: 'text', text: 'one', ended: false },
      { type: 'reasoning', text: 'two', ended: false },
    ]);
  });

  it('a reused id begins another part, and an end without a start is ignored', () => {
    const { reply, deltas } = read(
      text('0', 'one'),
      { type: 'text-end', id: '0' },
      { type: 'text-start', id: '0' },
      text('0', 'two'),
      { type: 'text-end', id: 'none' },
      { type: 'reasoning-end', id: '0' },
      { type: 'tool-input-delta', id: 'none', delta: '{' },
    );
    expect(reply.warnings.filter((warning) => warning.startsWith('skipped'))).toEqual([]);
    expect(reply.content).toMatchObject([
      { text: 'one', ended: true },
      { text: 'two', ended: false },
    ]);
    expect(deltas.map(({ part, delta }) => [part, delta])).toEqual([
      [0, 'one'],
      [0, ''],
      [1, 'two'],
    ]);
  });

  it('may come whole, and a delta that is empty or no text adds nothing', () => {
    const { reply, deltas } = read(
      { type: 'text', text: 'whole', ...meta({ a: 1 }) },
      { type: 'reasoning' },
      { type: 'text-delta', id: '0', delta: 7 },
      text('0', ''),
    );
    expect(reply.content).toEqual([
      { type: 'text', text: 'whole', ended: true, providerOptions: { own: { a: 1 } } },
      { type: 'reasoning', text: '', ended: true },
      { type: 'text', text: '', ended: false },
    ]);
    expect(deltas.map(({ part, delta }) => [part, delta])).toEqual([[0, 'whole']]);
  });
});

describe('C-2: the calls of a reply', () => {
  it('have their input streamed under the id that they will have', () => {
    const { reply, deltas } = read(
      { type: 'tool-input-start', id: 'taken', toolName: 'look' },
      { type: 'tool-input-delta', id: 'taken', delta: '{"a"' },
      { type: 'tool-input-delta', id: 'taken', delta: ':1}' },
      { type: 'tool-input-end', id: 'taken' },
      call('taken', '{"a":1}', meta({ a: 1 })),
    );
    const callId = 'c00201000';
    expect(reply.content).toEqual([
      {
        type: 'tool-call',
        callId,
        name: 'look',
        input: '{"a":1}',
        providerExecuted: false,
        providerOptions: { own: { a: 1 } },
      },
    ]);
    expect(reply.openInputs).toEqual([]);
    expect(deltas).toEqual(
      ['{"a"', ':1}'].map((delta) => ({
        type: 'model.delta',
        turn: 2,
        attempt: 1,
        kind: 'tool-input',
        part: 0,
        callId,
        toolName: 'look',
        delta,
      })),
    );
  });

  it('with the same id get one of their own, and each closes one input', () => {
    const start = { type: 'tool-input-start', id: 'x', toolName: 'look' };
    const both = read(start, start, call('x', '{"a":1}'), call('x', '{"a":2}')).reply;
    expect(both.content).toMatchObject([
      { callId: 'x', input: '{"a":1}' },
      { callId: 'c00201001', input: '{"a":2}' },
    ]);
    expect(both.openInputs).toEqual([]);
    expect(callIds(read(call('x'), call('y'), call('x'), call('taken'), call('no good')).reply)).toEqual([
      'x',
      'y',
      'c00201002',
      'c00201003',
      'c00201004',
    ]);
  });

  it('provider-executed calls keep their id, and either of their parts may mark them', () => {
    const start = (more: object) => ({ type: 'tool-input-start', id: 'taken', toolName: 'look', ...more });
    const executed = { providerExecuted: true };
    for (const parts of [
      [start(executed), call('taken')],
      [start({}), call('taken', '{}', executed)],
      [call('taken', '{}', executed)],
    ]) {
      const { reply } = read(...parts);
      expect(reply.content).toMatchObject([{ callId: 'taken', providerExecuted: true }]);
    }
    expect(callIds(read(call('x', '{}', executed), call('x')).reply)).toEqual(['x', 'x']);
  });

  it.each([
    ['{"a":1}', '{"a":1}'],
    [{ a: 1 }, '{"a":1}'],
    [null, 'null'],
    [7, '7'],
  ])('an input that is %j is the text %j', (input, expected) => {
    expect(read(call('x', input)).reply.content).toMatchObject([{ input: expected }]);
  });

  it('a call cut off in the middle of its input is open; one with a whole input is unfinished', () => {
    const begun = (id: string, delta: string, more: object = {}) => [
      { type: 'tool-input-start', id, toolName: 'look', ...more },
      { type: 'tool-input-delta', id, delta },
    ];
    const { reply } = read(
      ...begun('half', '{"a"'),
      ...begun('whole', '{"a":1}'),
      ...begun('list', '[1]'),
      ...begun('its', '{}', { providerExecuted: true }),
      { type: 'tool-input-delta', id: 'none', delta: 'x' },
    );
    expect(reply.content).toEqual([
      { type: 'tool-call', callId: 'whole', name: 'look', input: '{"a":1}', providerExecuted: false, unfinished: true },
    ]);
    expect(reply.openInputs).toEqual([
      { callId: 'half', name: 'look', input: '{"a"' },
      { callId: 'list', name: 'look', input: '[1]' },
      { callId: 'its', name: 'look', input: '{}' },
    ]);
  });
});
