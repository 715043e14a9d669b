import { describe, expect, it } from 'vitest';
import type { Reply, ReplyPart } from '../../machines/index.ts';
import type { SessionEvent } from '../../src/observe/events.ts';
import { StreamedReply } from '../../src/ui/streamed-reply.ts';
import { replySaying } from '../support/replies.ts';

type Delta = Extract<SessionEvent, { type: 'model.delta' }>;

const delta = (text: string, part = 0, more: Partial<Delta> = {}): Delta => ({
  ...{ type: 'model.delta', turn: 1, attempt: 2, part, kind: 'text', callId: null, toolName: null, delta: text },
  ...{ sessionId: 's', agent: 'a', at: 1, path: [], seq: 1 },
  ...more,
});
const input = (text: string, part: number, toolName = 'look') =>
  delta(text, part, { kind: 'tool-input', callId: `c${part}`, toolName });
const replyOf = (...content: object[]): Reply => ({ ...replySaying(''), content: content as ReplyPart[] });
const text = (said: string, more: object = {}) => ({ type: 'text', text: said, ended: true, ...more });
const call = (callId: string, more: object = {}) => ({
  ...{ type: 'tool-call', callId, name: 'look', input: '{}', providerExecuted: false },
  ...more,
});
const providerOptions = { p: { itemId: 'i' } };
const streamed = (...deltas: Delta[]) => {
  const reply = new StreamedReply((tool) => tool === 'files__read');
  reply.begin();
  return { reply, chunks: deltas.flatMap((one) => reply.delta(one)) };
};

describe('S-6: a reply on a page, as it streams', () => {
  it('each part begins once and then grows', () => {
    const { chunks } = streamed(delta('a'), delta('b'), delta('c', 1, { kind: 'reasoning' }), delta('d'));
    expect(chunks).toEqual([
      { type: 'text-start', id: '1.2.0' },
      { type: 'text-delta', id: '1.2.0', delta: 'a' },
      { type: 'text-delta', id: '1.2.0', delta: 'b' },
      { type: 'reasoning-start', id: '1.2.1' },
      { type: 'reasoning-delta', id: '1.2.1', delta: 'c' },
      { type: 'text-delta', id: '1.2.0', delta: 'd' },
    ]);
  });

  it('a call shows its input, and whether the page can know its tool', () => {
    const { chunks } = streamed(input('{', 0), input('}', 0), input('', 1, 'files__read'), input('', 2, 'odd name!'));
    expect(chunks).toEqual([
      { type: 'tool-input-start', toolCallId: 'c0', toolName: 'look' },
      { type: 'tool-input-delta', toolCallId: 'c0', inputTextDelta: '{' },
      { type: 'tool-input-delta', toolCallId: 'c0', inputTextDelta: '}' },
      { type: 'tool-input-start', toolCallId: 'c1', toolName: 'files__read', dynamic: true },
      { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '' },
      { type: 'tool-input-start', toolCallId: 'c2', toolName: expect.stringMatching(/^[A-Za-z0-9_-]+$/) },
      { type: 'tool-input-delta', toolCallId: 'c2', inputTextDelta: '' },
    ]);
    expect(streamed(delta('{', 0, { kind: 'tool-input' })).chunks).toEqual([]);
  });

  it('a page that left in its middle gets it from its beginning; one that left between replies gets nothing', async () => {
    const { reply } = streamed(delta('a'), delta('b'), input('{', 1));
    expect(reply.again()).toEqual([
      { type: 'reset-step' },
      { type: 'text-start', id: '1.2.0' },
      { type: 'text-delta', id: '1.2.0', delta: 'ab' },
      { type: 'tool-input-start', toolCallId: 'c1', toolName: 'look' },
      { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{' },
    ]);
    expect(new StreamedReply(() => false).again()).toEqual([]);
    await reply.replied(null);
    expect(reply.again()).toEqual([]);
    reply.begin();
    expect(reply.again()).toEqual([{ type: 'reset-step' }]);
    expect(reply.takenBack()).toEqual([{ type: 'reset-step' }]);
    expect(reply.again()).toEqual([]);
  });
});

describe('S-6: a reply on a page, when it is there', () => {
  it('keeps what was streamed if that is all, and ends its texts with their metadata', async () => {
    const { reply } = streamed(delta('a'), delta('b', 1, { kind: 'reasoning' }), input('{}', 2));
    const content = [text('a'), { ...text('b', { providerOptions }), type: 'reasoning' }, call('c2'), text('')];
    expect(await reply.replied(replyOf(...content))).toEqual([
      { type: 'text-end', id: '1.2.0' },
      { type: 'reasoning-end', id: '1.2.1', providerMetadata: providerOptions },
    ]);
  });

  it.each<[string, Delta[], object[]]>([
    ['has more parts', [delta('a')], [text('a'), text('b')]],
    ['has fewer', [delta('a'), delta('b', 1)], [text('a')]],
    ['has another text', [delta('a')], [text('b')]],
    ['has a text of another kind', [delta('a', 0, { kind: 'reasoning' })], [text('a')]],
    ['has another call', [input('{}', 0)], [call('c9')]],
    ['has a call that the provider ran', [input('{}', 0)], [call('c0', { providerExecuted: true })]],
    ['has an empty text with metadata', [], [text('', { providerOptions })]],
  ])('is sent again as a whole if it %s', async (_, deltas, content) => {
    const chunks = await streamed(...deltas).reply.replied(replyOf(...content));
    expect(chunks[0]).toEqual({ type: 'reset-step' });
    expect(chunks.length).toBeGreaterThan(1);
  });

  it('after an attempt has ended, nothing of it counts', async () => {
    const { reply } = streamed(delta('a'));
    reply.end();
    expect(await reply.replied(replyOf(text('a')))).toHaveLength(4);
  });

  it('without a reply, or an empty one, takes back what was streamed', async () => {
    expect(await streamed(delta('a')).reply.replied(null)).toEqual([{ type: 'reset-step' }]);
    expect(await streamed().reply.replied(replyOf(text('')))).toEqual([]);
  });

  const url = { sourceType: 'url', id: 's1', url: 'https://x.test/', title: 'X' };
  const file = (data: object) => ({ type: 'file', mediaType: 'text/plain', data });
  it.each<[string, object, object[]]>([
    [
      'a text',
      text('a', { providerOptions }),
      [
        { type: 'text-start', id: 'whole.0' },
        { type: 'text-delta', id: 'whole.0', delta: 'a' },
        { type: 'text-end', id: 'whole.0', providerMetadata: providerOptions },
      ],
    ],
    ['a call', call('c'), [{ type: 'tool-input-start', toolCallId: 'c', toolName: 'look' }]],
    [
      'a call that the provider ran',
      call('c', { providerExecuted: true, input: '{"q":1', providerOptions }),
      [
        {
          ...{ type: 'tool-input-available', toolCallId: 'c', toolName: 'look', input: { q: 1 } },
          ...{ providerExecuted: true, providerMetadata: providerOptions },
        },
      ],
    ],
    [
      'one with a blank input',
      call('c', { providerExecuted: true, input: '' }),
      [{ type: 'tool-input-available', toolCallId: 'c', toolName: 'look', input: {}, providerExecuted: true }],
    ],
    [
      'its result',
      { type: 'tool-result', callId: 'c', result: { found: 1 }, isError: false },
      [{ type: 'tool-output-available', toolCallId: 'c', output: { found: 1 }, providerExecuted: true }],
    ],
    [
      'its failure',
      { type: 'tool-result', callId: 'c', result: { why: 'x' }, isError: true, providerOptions },
      [
        {
          ...{ type: 'tool-output-error', toolCallId: 'c', errorText: '{"why":"x"}', providerExecuted: true },
          providerMetadata: providerOptions,
        },
      ],
    ],
    ['a page', { type: 'source', source: url }, [{ type: 'source-url', sourceId: 's1', url: url.url, title: 'X' }]],
    [
      'a page without a title or an id',
      { type: 'source', source: { sourceType: 'url', title: 7 } },
      [{ type: 'source-url', sourceId: '', url: '' }],
    ],
    [
      'a document',
      { type: 'source', source: { sourceType: 'document', id: 's', mediaType: 'm', title: 't', filename: 'f' } },
      [{ type: 'source-document', sourceId: 's', mediaType: 'm', title: 't', filename: 'f' }],
    ],
    [
      'a document without a name',
      { type: 'source', source: { sourceType: 'document', id: 's' } },
      [{ type: 'source-document', sourceId: 's', mediaType: '', title: '' }],
    ],
    ['a source of another kind', { type: 'source', source: { sourceType: 'dream' } }, []],
    ['an invalid source', { type: 'source', source: ['url'] }, []],
    ['no source at all', { type: 'source', source: null }, []],
    [
      'a file by its address',
      file({ type: 'url', url: 'https://x.test/a' }),
      [{ type: 'file', url: 'https://x.test/a', mediaType: 'text/plain' }],
    ],
    [
      'a file by its content',
      file({ type: 'data', data: 'QQ==' }),
      [{ type: 'file', url: 'data:text/plain;base64,QQ==', mediaType: 'text/plain' }],
    ],
    [
      'a file of text, from its reasoning',
      { ...file({ type: 'text', text: 'ä b' }), type: 'reasoning-file', providerOptions },
      [
        {
          ...{ type: 'reasoning-file', url: 'data:text/plain,%C3%A4%20b', mediaType: 'text/plain' },
          providerMetadata: providerOptions,
        },
      ],
    ],
    ['what only its provider knows', { type: 'custom', kind: 'p.k' }, [{ type: 'custom', kind: 'p.k' }]],
  ])('shows %s', async (_, part, chunks) => {
    const [reset, ...rest] = await streamed(delta('else'), delta('more', 1)).reply.replied(replyOf(part));
    expect([reset, rest]).toEqual([{ type: 'reset-step' }, chunks]);
  });
});
