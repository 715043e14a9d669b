import { describe, expect, it } from 'vitest';
import { type Message, stubTokens, type ToolOutput, type Usage } from '../../machines/index.ts';
import { contextWindow, resultBytesIn, resultStub, withoutResults } from '../../src/context/context-guard.ts';
import { RequestMeter } from '../../src/context/request-meter.ts';
import type { Limits } from '../../src/vocabulary/limits.ts';
import { estimateJsonTokens, estimateMessageTokens, estimateOutputTokens } from '../../src/vocabulary/tokens.ts';
import { replySaying } from '../support/replies.ts';

const limits = (some: Partial<Limits>) => some as Limits;
type Part = Extract<Message, { role: 'assistant' }>['content'][number];

/** The tokens of a part, without those of the message that it stands in. */
const part = (one: Part) => estimateMessageTokens({ role: 'assistant', content: [one] }) - 4;
const file = (mediaType: string, data: Extract<Part, { type: 'file' }>['data']) =>
  part({ type: 'file', mediaType, data });
/** Base64 of so many bytes. */
const base64 = (bytes: number) => 'A'.repeat((bytes * 4) / 3);

describe('T-6: how many tokens a part is estimated to have', () => {
  it('a message and each of its parts cost four extra tokens', () => {
    expect(estimateMessageTokens({ role: 'user', content: [] })).toBe(4);
    const text = { type: 'text' as const, text: 'x'.repeat(40) };
    expect(estimateMessageTokens({ role: 'user', content: [text, text] })).toBe(4 + 14 + 14);
    expect(part({ type: 'reasoning', text: 'x'.repeat(41) })).toBe(4 + 11);
    expect(part({ type: 'custom', kind: 'openai.compaction' })).toBe(4);
  });

  it('a call has those of its id, its name and its input, and an answer those of its output', () => {
    const input = { q: 'x'.repeat(100) };
    expect(part({ type: 'tool-call', toolCallId: '12345678', toolName: 'search42', input })).toBe(4 + 4 + 27);
    const answer = { toolCallId: '12345678', toolName: 'search42', output: { type: 'text', value: 'x'.repeat(80) } };
    expect(estimateMessageTokens({ role: 'tool', content: [{ type: 'tool-result', ...answer } as never] })).toBe(
      4 + 4 + 4 + 20,
    );
  });

  it.each([
    [{ type: 'text', value: 'x'.repeat(40) }, 10],
    [{ type: 'error-text', value: 'x'.repeat(41) }, 11],
    [{ type: 'json', value: ['x'.repeat(36)] }, 10],
    [{ type: 'error-json', value: { a: 1 } }, 2],
    [{ type: 'execution-denied' }, 0],
    [{ type: 'execution-denied', reason: 'x'.repeat(12) }, 3],
    [
      {
        type: 'content',
        value: [
          { type: 'text', text: 'x'.repeat(8) },
          { type: 'text', text: '' },
        ],
      },
      4 + 2 + 4,
    ],
  ] as [ToolOutput, number][])('an output of %j', (output, tokens) => {
    expect(estimateOutputTokens(output)).toBe(tokens);
  });

  it('a file has those of its kind of medium, never those of its encoding', () => {
    const data = (bytes: number) => ({ type: 'data' as const, data: base64(bytes) });
    expect(file('image/png', data(3_000_000))).toBe(1_600);
    expect(file('image/png', { type: 'url', url: 'https://example.com/x.png' })).toBe(1_600);
    expect(file('application/pdf', { type: 'url', url: 'https://example.com/x.pdf' })).toBe(4_000);
    expect(file('application/pdf', { type: 'url', url: 'see data:text/plain;base64,AAAA' })).toBe(4_000);
    expect(file('application/pdf', data(12_000))).toBe(4 + 1_000);
    expect(file('audio/mpeg', data(60_000))).toBe(4 + 120);
    expect(file('video/mp4', data(60_000))).toBe(4 + 75);
    for (const text of [
      'text/markdown',
      'application/json',
      'image-set/x+xml',
      'application/x+yaml',
      'application/csv',
    ])
      expect(file(text, data(1_200))).toBe(4 + 300);
    // Only a type that begins or ends so.
    for (const other of ['my/text/x', 'application/jsonl', 'my-audio/x', 'my-video/x', 'x-image/png'])
      expect(file(other, data(1_200))).toBe(4 + 100);
    expect(file('application/pdf', { type: 'url', url: `data:application/pdf;base64,${base64(12_000)}` })).toBe(1_004);
    expect(file('application/pdf', { type: 'text', text: 'x'.repeat(40) })).toBe(4 + 10);
    expect(part({ type: 'reasoning-file', mediaType: 'image/png', data: data(3) })).toBe(1_600);
  });
});

describe('T-6: the context window', () => {
  it('reserves the longest reply, but at most a quarter', () => {
    expect(contextWindow(limits({ contextWindow: null }), 9)).toEqual({ windowTokens: null, reserveTokens: 9 });
    const of = (windowTokens: number, most?: number) =>
      contextWindow(limits({ contextWindow: windowTokens }), most).reserveTokens;
    expect([of(100_000), of(100_000, 7), of(1_000), of(1_003, 9_999)]).toEqual([4_096, 7, 250, 250]);
  });

  it('a result has at most a quarter of the room, at four bytes a token, but never less than 256 bytes', () => {
    const bytes = (windowTokens: number | null, toolResultBytes: number) =>
      resultBytesIn({ windowTokens, reserveTokens: 0 }, limits({ toolResultBytes }));
    expect([
      bytes(null, 30_000),
      bytes(20_000, 30_000),
      bytes(20_000, 5_000),
      bytes(100, 5_000),
      bytes(100, 9),
    ]).toEqual([30_000, 20_000, 5_000, 256, 256]);
  });

  it('only the results that are left out are replaced, by what says how to get them', () => {
    expect(resultStub('c1', 70, true)).toBe(
      '[This result, of about 70 tokens, was left out, because the conversation fills the context window. Read it in pages with read_result, id c1.]',
    );
    expect(resultStub('c1', 70, false)).toContain(' If you still need it, ask for less of it.]');
    const result = (toolCallId: string) => ({
      type: 'tool-result' as const,
      toolCallId,
      toolName: 'search',
      output: { type: 'text' as const, value: toolCallId },
    });
    const tool: Message = { role: 'tool', content: [result('a'), result('b')] };
    const user: Message = { role: 'user', content: [{ type: 'text', text: 'a' }] };
    const stub = (callId: string) => `without ${callId}`;
    expect(withoutResults(tool, new Set(['b', 'c']), stub)).toEqual({
      role: 'tool',
      content: [result('a'), { ...result('b'), output: { type: 'text', value: 'without b' } }],
    });
    expect(withoutResults(tool, new Set(['c']), stub)).toBe(tool);
    expect(withoutResults(user, new Set(['a']), stub)).toBe(user);
    const call = { type: 'tool-call' as const, toolCallId: 'a', toolName: 'search', input: {} };
    const asked: Message = { role: 'assistant', content: [call] };
    expect(withoutResults(asked, new Set(['a']), stub)).toBe(asked);
  });
});

describe('T-6: the size of a request', () => {
  const say = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
  const source = {
    instructions: 'x'.repeat(400) as string | null,
    ownInstructions: 'x'.repeat(40),
    messages: [say('x'.repeat(40))],
    prompt: 0,
    revision: 0,
    answerTokens: new Map([
      ['long', 1_000],
      ['short', 10],
    ]),
  };
  const tools = [{ name: 'x'.repeat(89) }];
  const toolTokens = estimateJsonTokens(tools);
  const meter = () => new RequestMeter(source, () => tools);
  const all = { omit: [], omitText: 0 };
  const usage = (input: number, output: number): Usage => ({
    input,
    output,
    cacheRead: 0,
    cacheWrite: 0,
    reasoning: 0,
  });

  it('is that of its instructions, its tools and its messages, without the results that it leaves out', () => {
    const whole = 100 + toolTokens + 18;
    expect(toolTokens).toBe(26);
    expect(meter().estimate(all)).toBe(whole);
    expect(meter().estimate({ omit: ['long'], omitText: 0 })).toBe(whole - 1_000 + stubTokens);
    expect(meter().estimate({ omit: ['unknown'], omitText: 0 })).toBe(whole);
    expect(meter().estimate(all, null)).toBe(whole - 100);
    expect(
      meter()
        .of({ ...source, instructions: null, messages: [] })
        .estimate(all),
    ).toBe(toolTokens);
    expect(meter().first('x'.repeat(8))).toEqual({
      tokens: whole - 98,
      results: [
        { callId: 'long', tokens: 1_000 },
        { callId: 'short', tokens: 10 },
      ],
      oldText: 0,
    });
  });

  it('grows with each message, which is measured once', () => {
    const growing = meter();
    const messages = [...source.messages];
    const own = growing.of({
      ...source,
      get messages() {
        return messages;
      },
    });
    const before = own.estimate(all);
    expect(own.estimate(all)).toBe(before);
    messages.push(say('x'.repeat(80)));
    expect(own.estimate(all)).toBe(before + 4 + 4 + 20);
    expect(own.estimate(all)).toBe(before + 28);
  });

  it('grows with other instructions and tools', () => {
    expect(meter().growth('x'.repeat(800), tools)).toBe(100);
    // Null: the instructions that the session was prepared with.
    expect(meter().growth(null, tools)).toBe(10 - 100);
    expect(meter().growth('x'.repeat(400), [])).toBe(1 - toolTokens);
    expect(
      meter()
        .of({ ...source, instructions: null, ownInstructions: null })
        .growth(null, tools),
    ).toBe(0);
  });

  it("is the provider's count, unless it counts less than half of what was sent, or nothing", () => {
    const whole = 144;
    expect(meter().measure(all, replySaying('x'.repeat(40)), usage(0, 0))).toEqual({
      tokens: whole + 18,
      failed: whole,
      counted: false,
      oldText: 0,
    });
    expect(meter().measure(all, replySaying(''), usage(0, 9))).toMatchObject({ counted: false });
    expect(meter().measure(all, replySaying('x'.repeat(40)), usage(500, 20))).toEqual({
      ...{ tokens: 520, failed: 500, counted: true, oldText: 0 },
    });
    expect(meter().measure(all, replySaying('x'.repeat(40)), usage(1, 2))).toEqual({
      ...{ tokens: 81, failed: 72, counted: true, oldText: 0 },
    });
    expect(meter().measure({ omit: ['long'], omitText: 0 }, replySaying('x'.repeat(40)), usage(1, 2))).toEqual({
      ...{ tokens: 3, failed: 1, counted: true, oldText: 0 },
    });
  });
});
