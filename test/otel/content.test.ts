import { describe, expect, it } from 'vitest';
import type { Message, Reply, ToolOutput } from '../../machines/index.ts';
import { inputMessagesAttribute, instructionParts, outputMessages, toolResult } from '../../src/otel/content.ts';
import { replySaying } from '../support/replies.ts';

const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'cG5n' } } as const;
const parsed = (text: string): unknown => JSON.parse(text);

describe('the content that spans may hold, in the form of the conventions', () => {
  it('messages, the notice last; files are named, not kept', () => {
    const messages: Message[] = [
      { role: 'user', content: [{ type: 'text', text: 'Look.' }, file] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.' },
          { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: { at: 1 } },
          { type: 'reasoning-file', mediaType: 'image/gif', data: file.data },
          { type: 'custom', kind: 'a.b' },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'look', output: { type: 'text', value: 'seen' } }],
      },
    ];
    const expected = [
      {
        role: 'user',
        parts: [
          { type: 'text', content: 'Look.' },
          { type: 'file', mime_type: 'image/png' },
        ],
      },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'Hm.' },
          { type: 'tool_call', id: 'c', name: 'look', arguments: { at: 1 } },
          { type: 'file', mime_type: 'image/gif' },
          { type: 'custom' },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: 'seen' }] },
    ];
    expect(parsed(inputMessagesAttribute(messages, null))).toEqual(expected);
    expect(parsed(inputMessagesAttribute(messages, 'Report now.'))).toEqual([
      ...expected,
      { role: 'user', parts: [{ type: 'text', content: 'Report now.' }] },
    ]);
    expect(parsed(instructionParts('Be brief.'))).toEqual([{ type: 'text', content: 'Be brief.' }]);
  });

  it('a reply, with why it ended', () => {
    const reply: Reply = {
      ...replySaying(''),
      content: [
        { type: 'text', text: 'So.', ended: true },
        { type: 'tool-call', callId: 'c', name: 'look', input: '{"at":1}', providerExecuted: true },
        { type: 'tool-result', callId: 'c', name: 'look', result: [1], isError: false },
        { type: 'source', source: {} },
      ],
    };
    const parts = [
      { type: 'text', content: 'So.' },
      { type: 'tool_call', id: 'c', name: 'look', arguments: '{"at":1}' },
      { type: 'tool_call_response', id: 'c', response: [1] },
      { type: 'source' },
    ];
    expect(parsed(outputMessages(reply))).toEqual([{ role: 'assistant', parts, finish_reason: 'stop' }]);
    expect(parsed(outputMessages({ ...reply, finishReason: null }))).toMatchObject([{ finish_reason: 'error' }]);
  });

  it.each<[ToolOutput, unknown]>([
    [{ type: 'text', value: 'x' }, 'x'],
    [{ type: 'json', value: { a: 1 } }, { a: 1 }],
    [{ type: 'execution-denied', reason: 'no' }, 'no'],
    [{ type: 'execution-denied' }, null],
    [
      { type: 'content', value: [{ type: 'text', text: 'x' }, file] },
      [
        { type: 'text', content: 'x' },
        { type: 'file', mime_type: 'image/png' },
      ],
    ],
  ])('a result: %j', (output, expected) => {
    expect(parsed(toolResult(output))).toEqual(expected);
  });
});
