import { describe, expect, it } from 'vitest';
import type { ToolOutput } from '../../machines/index.ts';
import {
  answered,
  at,
  call,
  chunksSince,
  delta,
  event,
  facts,
  named,
  replied,
  requested,
} from '../support/ui-events.ts';

describe('S-6: the calls of a message', () => {
  it('have their input, and say if the page cannot know their tool', async () => {
    const shown = { type: 'tool-input-available', toolCallId: 'c0', input: { q: 0 } };
    expect(await chunksSince(requested('look'))).toEqual([{ ...shown, toolName: 'look' }]);
    const connected = event('server.connected', { server: 'files', tools: ['read'] });
    expect(await chunksSince(connected)).toEqual([]);
    expect(await chunksSince(connected, requested('files__read'))).toEqual([
      { ...shown, toolName: 'files__read', dynamic: true },
    ]);
    expect(await chunksSince(connected, requested('file'))).toEqual([{ ...shown, toolName: 'file' }]);
    // The name of a server may hold the separator.
    const mine = event('server.connected', { server: 'my__files', tools: ['read'] });
    expect(await chunksSince(mine, requested('my__files__read'))).toMatchObject([{ dynamic: true }]);
    const input = { kind: 'tool-input', callId: 'c0', toolName: 'files__read' };
    expect((await chunksSince(connected, delta('{', input)))[0]).toMatchObject({ dynamic: true });
    expect(await chunksSince(requested('web', 0, 'provider'))).toEqual([]);
  });

  it('show what they have so far', async () => {
    const progressed = (output: object) => event('tool.progressed', { callId: 'c0', name: 'look', output });
    expect(await chunksSince(requested('look'), progressed({ type: 'text', value: 'So far.' }))).toEqual([
      { type: 'tool-output-available', toolCallId: 'c0', output: 'So far.', preliminary: true },
    ]);
    expect(await chunksSince(requested('look'), progressed({ type: 'execution-denied' }))).toMatchObject([
      { output: null },
    ]);
    expect(await chunksSince(progressed({ type: 'text', value: 'So far.' }))).toEqual([]);
  });

  it.each<[string, object, object, object]>([
    [
      'a value',
      { success: true, value: { a: 1 }, message: 'm' },
      {},
      { type: 'tool-output-available', output: { a: 1 } },
    ],
    ['a message', { success: true, value: null, message: 'm' }, {}, { type: 'tool-output-available', output: 'm' }],
    ['a failure', { success: false, value: 1, message: 'm' }, {}, { type: 'tool-output-error', errorText: 'm' }],
    [
      'a denial',
      { success: false, value: null, message: 'm' },
      { slug: 'tool_denied' },
      { type: 'tool-output-denied' },
    ],
  ])('are answered with %s', async (_, result, more, chunk) => {
    expect(await chunksSince(requested('look'), answered('look', result, more))).toEqual([
      { ...chunk, toolCallId: 'c0' },
    ]);
    expect(await chunksSince(answered('look', result, more))).toEqual([]);
  });

  const asked = event('tool.approvalRequested', { ...named('look'), input: { q: 0 } });
  it('ask for approval, and show the decision', async () => {
    const request = { type: 'tool-approval-request', approvalId: 's/c0', toolCallId: 'c0' };
    expect(await chunksSince(requested('look'), asked)).toEqual([request]);
    const response = { type: 'tool-approval-response', approvalId: 's/c0' };
    const approved = event('tool.approved', { ...named('look'), reason: null });
    const denied = event('tool.denied', { ...named('look'), reason: 'No.' });
    expect(await chunksSince(requested('look'), asked, approved)).toEqual([{ ...response, approved: true }]);
    expect(await chunksSince(requested('look'), asked, denied)).toEqual([
      { ...response, approved: false, reason: 'No.' },
    ]);
    expect(await chunksSince(approved)).toEqual([]);
    expect(await chunksSince(denied)).toEqual([]);
  });

  it('of a sub-agent get a part when they ask or are handed out, and then an answer', async () => {
    const below = { path: ['reader'], sessionId: 's2', input: { q: 1 } };
    const ask = event('tool.approvalRequested', { ...named('look'), ...below });
    const part = {
      type: 'tool-input-available',
      toolCallId: 'inner:s2/c0',
      toolName: 'look',
      input: { q: 1 },
      dynamic: true,
    };
    expect(await chunksSince(ask)).toEqual([
      part,
      { type: 'tool-approval-request', approvalId: 's2/c0', toolCallId: 'inner:s2/c0' },
    ]);
    const handed = event('tool.handedOut', { callId: 'c0', name: 'look', ...below });
    expect(await chunksSince(handed)).toEqual([part]);
    expect(await chunksSince(ask, handed)).toEqual([]);
    const answer = answered('look', { success: true, value: 1, message: '' }, { path: ['reader'], sessionId: 's2' });
    expect(await chunksSince(handed, answer)).toEqual([
      { type: 'tool-output-available', toolCallId: 'inner:s2/c0', output: 1 },
    ]);
    expect(await chunksSince(answer)).toEqual([]);
    expect(await chunksSince(event('model.delta', { path: ['reader'], delta: 'x', callId: null }))).toEqual([]);
  });

  it('inside of a batch get a part when they ask', async () => {
    const calls = [{ ...facts('c0'), tool: 'batch' }, facts('c1', 0)];
    const reply = replied([call('c0', 'batch', '{"calls":[{"tool":"look","input":{}}]}')], calls);
    const inner = { ...named('look', 1), input: { q: 1 } };
    expect(await chunksSince(reply, requested('look', 1))).toEqual([]);
    expect(await chunksSince(reply, event('tool.approvalRequested', inner))).toMatchObject([
      { type: 'tool-input-available', toolCallId: 'inner:s/c1', dynamic: true },
      { type: 'tool-approval-request', approvalId: 's/c1', toolCallId: 'inner:s/c1' },
    ]);
    expect(await chunksSince(reply, event('tool.handedOut', inner))).toMatchObject([{ toolCallId: 'inner:s/c1' }]);
    expect(
      await chunksSince(reply, requested('look'), event('tool.handedOut', { ...inner, ...named('look') })),
    ).toEqual([]);
  });

  it.each<[string, object, ToolOutput, object[]]>([
    ['the same', { success: true, value: 'So.', message: '' }, { type: 'text', value: 'So.' }, []],
    [
      'more',
      { success: true, value: { a: 1 }, message: '' },
      { type: 'text', value: 'It is 1.' },
      [{ type: 'tool-output-available', output: { a: 1 } }],
    ],
    [
      'more of a failure',
      { success: false, value: null, message: 'No.' },
      { type: 'error-text', value: 'No. Try again.' },
      [{ type: 'tool-output-error', errorText: 'No.' }],
    ],
    [
      'a denial',
      { success: false, value: null, message: 'No.' },
      { type: 'execution-denied', reason: 'No.' } as never,
      [],
    ],
  ])(
    'S-6: an answer that the model reads differently keeps what the model read: %s',
    async (_, result, output, expected) => {
      const providerMetadata = { pawl: { output } };
      const reply = replied([call('c0')], [facts('c0')]);
      const chunks = await chunksSince(
        ...[reply, requested('look'), answered('look', result, { slug: null }, output), event('attempt.finished', at)],
      );
      expect(chunks).toEqual(expected.map((chunk) => ({ ...chunk, toolCallId: 'c0', providerMetadata })));
      const aborted = await chunksSince(
        ...[reply, requested('look'), answered('look', result, {}, output), event('attempt.aborted', at)],
      );
      expect(aborted).toEqual(chunks);
    },
  );
});
