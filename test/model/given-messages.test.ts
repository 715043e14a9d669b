import { describe, expect, it } from 'vitest';
import type { Message } from '../../machines/index.ts';
import type { InputMessage } from '../../src/model/messages.ts';
import { parseMessages } from '../../src/model/messages.ts';
import { toModelMessages } from '../../src/vocabulary/sdk-messages.ts';
import { base, builder } from '../support/prompts.ts';

const url = 'https://a.example/b.png';
const data = { type: 'data', data: 'AQID' };
const bytes = new Uint8Array([1, 2, 3]);
const options = { providerOptions: { one: { mark: true } } };
const read = (message: object): Message | undefined => parseMessages([message as InputMessage])[0];
const partsOf = (role: string, part: object) => read({ role, content: [part] })?.content;
const file = (content: object, more: object = {}) => ({ type: 'file', mediaType: 'image/png', data: content, ...more });

describe('C-6: messages that a session is given', () => {
  it.each(['user', 'assistant'])('the text of a %s may stand alone', (role) => {
    expect(read({ role, content: 'Go.', ...options })).toEqual({
      role,
      content: [{ type: 'text', text: 'Go.' }],
      ...options,
    });
  });

  it("keeps Pawl's own marks of an assistant's message", () => {
    const message = { role: 'assistant', content: [{ type: 'text', text: 'a' }], provider: 'one', open: true };
    expect(read(message)).toEqual(message);
  });

  it.each<[string, unknown, object]>([
    ['base64', 'AQID', data],
    ['a URL as text', url, { type: 'url', url }],
    ['a data URL', 'data:image/png;base64,AQID', { type: 'url', url: 'data:image/png;base64,AQID' }],
    ['a URL', new URL(url), { type: 'url', url }],
    ['bytes', bytes, data],
    ['a buffer', bytes.buffer, data],
    ['tagged base64', { type: 'data', data: 'AQID' }, data],
    ['tagged bytes', { type: 'data', data: bytes }, data],
    ['a tagged buffer', { type: 'data', data: bytes.buffer }, data],
    ['a tagged URL as text', { type: 'url', url }, { type: 'url', url }],
    ['a tagged URL', { type: 'url', url: new URL(url) }, { type: 'url', url }],
    ['a text', { type: 'text', text: 'a' }, { type: 'text', text: 'a' }],
  ])('a file may be %s', (_, given, content) => {
    for (const role of ['user', 'assistant'])
      expect(partsOf(role, file(given as object, { filename: 'b.png', ...options }))).toEqual([
        file(content, { filename: 'b.png', ...options }),
      ]);
  });

  it('an image is a file', () => {
    expect(partsOf('user', { type: 'image', image: bytes, ...options })).toEqual([
      file(data, { mediaType: 'image/*', ...options }),
    ]);
    expect(partsOf('user', { type: 'image', image: url, mediaType: 'image/png' })).toEqual([
      file({ type: 'url', url }),
    ]);
  });

  it.each<[string, object]>([
    ['reasoning', { type: 'reasoning', text: 'hm', ...options }],
    ['a file of reasoning', { ...file(data), type: 'reasoning-file', ...options }],
    ["a provider's own part", { type: 'custom', kind: 'one.special', ...options }],
    ['a call', { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: { a: [1] }, ...options }],
    [
      'a call of a provider',
      { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {}, providerExecuted: true, isText: true },
    ],
    ['a result', { type: 'tool-result', toolCallId: 'c', toolName: 'look', output: { type: 'text', value: 'a' } }],
  ])("an assistant's message may hold %s", (_, part) => expect(partsOf('assistant', part)).toEqual([part]));

  it.each<[string, unknown, object]>([
    ['a list', [1, 2], { malformed_input: '[1,2]' }],
    ['null', null, { malformed_input: 'null' }],
    ['nothing', undefined, { malformed_input: '' }],
    ['what JSON lacks', { at: new Date(0), no: undefined }, { at: '1970-01-01T00:00:00.000Z' }],
  ])('C-2: %s as the input of a call becomes an object', (_, given, input) => {
    const call = { type: 'tool-call', toolCallId: 'c', toolName: 'look' };
    expect(partsOf('assistant', { ...call, input: given })).toEqual([{ ...call, input }]);
  });

  it('C-2: a text as the input of a call goes back as one to a tool that takes one, and to no other', () => {
    const call = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: 'SELECT 1' };
    const message = read({ role: 'assistant', content: [call] }) as Message;
    expect(message.content).toEqual([{ ...call, input: { text: 'SELECT 1' }, isText: true }]);
    const inputFor = (isTaken: boolean) =>
      builder([message], { takesText: () => isTaken }).build(base).prompt[0]?.content[0];
    expect(inputFor(true)).toMatchObject({ input: 'SELECT 1' });
    expect(inputFor(false)).toMatchObject({ input: { malformed_input: 'SELECT 1' } });
  });

  it.each<[string, object, object]>([
    ['a text', { type: 'text', value: 'a' }, { type: 'text', value: 'a' }],
    ['a failure', { type: 'error-text', value: 'a' }, { type: 'error-text', value: 'a' }],
    ['JSON', { type: 'json', value: { a: new Date(0) } }, { type: 'json', value: { a: '1970-01-01T00:00:00.000Z' } }],
    ['JSON that is null', { type: 'json', value: null }, { type: 'json', value: null }],
    ['a failure with a value', { type: 'error-json', value: [1] }, { type: 'error-json', value: [1] }],
    ['a refusal', { type: 'execution-denied' }, { type: 'execution-denied' }],
    ['a refusal with a reason', { type: 'execution-denied', reason: 'no' }, { type: 'execution-denied', reason: 'no' }],
    [
      'pieces',
      {
        type: 'content',
        value: [
          { type: 'text', text: 'a', ...options },
          file(bytes, { filename: 'b.png', ...options }),
          { type: 'file-data', mediaType: 'image/png', data: 'AQID', filename: 'b.png', ...options },
          { type: 'image-data', mediaType: 'image/png', data: 'AQID' },
          { type: 'file-url', url, ...options },
          { type: 'image-url', url },
          { type: 'file-id', fileId: 'f' },
        ],
      },
      {
        type: 'content',
        value: [
          { type: 'text', text: 'a', ...options },
          file(data, { filename: 'b.png', ...options }),
          file(data, { filename: 'b.png', ...options }),
          file(data),
          file({ type: 'url', url }, { mediaType: '*/*', ...options }),
          file({ type: 'url', url }, { mediaType: 'image/*' }),
          { type: 'text', text: '[unsupported content: file-id]' },
        ],
      },
    ],
  ])('a result may be %s', (_, given, output) => {
    const part = { type: 'tool-result', toolCallId: 'c', toolName: 'look', ...options };
    for (const role of ['tool', 'assistant'])
      expect(partsOf(role, { ...part, output: given })).toEqual([{ ...part, output }]);
  });

  it('requests for an approval and answers to them are dropped', () => {
    const text = { type: 'text', text: 'a' };
    const result = { type: 'tool-result', toolCallId: 'c', toolName: 'look', output: { type: 'text', value: 'a' } };
    const request = { type: 'tool-approval-request', approvalId: 'x', toolCallId: 'c' };
    const response = { type: 'tool-approval-response', approvalId: 'x', approved: true };
    expect(read({ role: 'assistant', content: [text, request, response] })?.content).toEqual([text]);
    expect(read({ role: 'tool', content: [request, response, result] })?.content).toEqual([result]);
  });

  it.each<[string, unknown, string]>([
    ['a system message', { role: 'system', content: 'Be.' }, 'At `messages[1]'],
    ['a text', 'Go.', 'At `messages[1]'],
    ['an invalid URL', { role: 'user', content: [file({ type: 'url', url: 'http://' })] }, 'At `messages[1].content'],
    ['a part of another kind', { role: 'user', content: [{ type: 'video' }] }, 'At `messages[1].content'],
    ['an image of an assistant', { role: 'assistant', content: [{ type: 'image', image: url }] }, 'At `messages[1]'],
    ['a text in a result', { role: 'tool', content: [{ type: 'text', text: 'a' }] }, 'At `messages[1].content[0]'],
    ['a bigint', { role: 'user', content: 'a', providerOptions: { one: { big: 1n } } }, 'At `messages[1]`: '],
  ])('%s is refused by its place', (_, message, place) => {
    const given = [{ role: 'user', content: 'Go.' }, message] as InputMessage[];
    const must = '`messages[1]` must be an AI SDK user, assistant or tool message';
    expect(() => parseMessages(given)).toThrow(must);
    expect(() => parseMessages(given)).toThrow("(put system text in the agent's instructions); got ");
    expect(() => parseMessages(given)).toThrow(place);
    expect(() => parseMessages(given)).toThrow(expect.objectContaining({ code: 'invalid_messages' }));
  });

  it('a value without an undefined field is plain JSON', () => {
    const given = { role: 'user', content: [{ type: 'text', text: 'a', providerOptions: undefined }] };
    expect(Object.keys(read(given)?.content[0] ?? {})).toEqual(['type', 'text']);
  });
});

describe('the conversation in the shapes of the SDK, for tools', () => {
  it('a URL is an object, data stands alone, and all else stays', () => {
    const content = (at: object): object[] => [
      file(at, { filename: 'b.png' }),
      file(data),
      { type: 'text', text: 'a' },
    ];
    const pieces = { type: 'content', value: [file({ type: 'url', url }), file(data), { type: 'text', text: 'a' }] };
    const result = { type: 'tool-result', toolCallId: 'c', toolName: 'look' };
    const call = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} };
    const messages = [
      { role: 'user', content: content({ type: 'url', url }), ...options },
      {
        role: 'assistant',
        provider: 'one',
        content: [
          ...content({ type: 'text', text: 't' }),
          { ...file(data), type: 'reasoning-file' },
          call,
          { ...result, output: pieces },
        ],
      },
      {
        role: 'tool',
        content: [
          { ...result, output: pieces },
          { ...result, output: { type: 'text', value: 'a' } },
        ],
      },
    ] as Message[];
    const sdkPieces = {
      type: 'content',
      value: [file({ type: 'url', url: new URL(url) }), file(data), { type: 'text', text: 'a' }],
    };
    const bare = file({}, { data: 'AQID' });
    expect(toModelMessages(messages)).toEqual([
      {
        role: 'user',
        content: [file({}, { data: new URL(url), filename: 'b.png' }), bare, { type: 'text', text: 'a' }],
        ...options,
      },
      {
        role: 'assistant',
        content: [
          file({ type: 'text', text: 't' }, { filename: 'b.png' }),
          bare,
          { type: 'text', text: 'a' },
          call,
          { ...result, output: sdkPieces },
        ],
      },
      {
        role: 'tool',
        content: [
          { ...result, output: sdkPieces },
          { ...result, output: { type: 'text', value: 'a' } },
        ],
      },
    ]);
  });
});
