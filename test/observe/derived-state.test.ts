import { describe, expect, it } from 'vitest';
import type { CallFacts, Fact, Message } from '../../machines/index.ts';
import { KeptResults } from '../../src/observe/calls/kept-results.ts';
import { PastCalls } from '../../src/observe/calls/past-calls.ts';
import type { Conversation } from '../../src/observe/conversation.ts';
import type { SessionEvent } from '../../src/observe/events.ts';
import { Slices, slice } from '../../src/observe/slices.ts';

const answered = (index: number, more: object = {}): Fact =>
  ({
    type: 'tool.answered',
    turn: 1,
    attempt: 2,
    index,
    callId: `c${index}`,
    name: 'search',
    executed: true,
    slug: null,
    kept: null,
    ...more,
  }) as unknown as Fact;

describe('results that are read in pages', () => {
  const result = (toolCallId: string, value: string) => ({
    type: 'tool-result' as const,
    toolCallId,
    toolName: 'search',
    output: { type: 'text' as const, value },
  });
  const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'said' }] }];
  const keptBy = (resultBytes: number, secrets: string[] = []) =>
    new KeptResults(resultBytes, { messages, replaced: [] as Message[] } as Conversation, secrets);

  it('a result that was cut is found by its own id and by that of its call, and its pages make up the whole', () => {
    const kept = keptBy(260);
    const text = 'äöü€'.repeat(50);
    kept.fact(answered(0, { kept: text }));
    kept.fact(answered(1));
    const { of = 0 } = kept.page('r1_2_0', 1) ?? {};
    const pages = Array.from({ length: of }, (_, index) => kept.page('c0', index + 1)?.text ?? '');
    expect(of).toBe(5);
    expect(pages.join('')).toBe(text);
    // A page leaves 160 bytes for its heading, and is full.
    expect(pages.slice(0, -1).every((page) => Buffer.byteLength(page) <= 100 && Buffer.byteLength(page) > 96)).toBe(
      true,
    );
    for (const [id, number] of [
      ['c0', 0],
      ['c0', of + 1],
      ['c1', 1],
      ['r1_2_1', 1],
      ['unknown', 1],
    ] as const)
      expect(kept.page(id, number)).toBeNull();
  });

  it('a page has at least 64 bytes', () => {
    const kept = keptBy(100);
    kept.fact(answered(0, { kept: 'x'.repeat(65) }));
    expect(kept.page('c0', 1)).toEqual({ text: 'x'.repeat(64), of: 2 });
    expect(kept.page('c0', 2)).toEqual({ text: 'x', of: 2 });
  });

  it('S-5: no secret is split between two pages, unless it is longer than one', () => {
    const secret = 'hunter2-of-mine';
    const kept = keptBy(0, [secret]);
    const text = `${'x'.repeat(60)}${secret}${'y'.repeat(60)}`;
    kept.fact(answered(0, { kept: text }));
    const pages = [1, 2, 3].map((page) => kept.page('c0', page)?.text);
    expect(pages).toEqual(['x'.repeat(60), `${secret}${'y'.repeat(49)}`, 'y'.repeat(11)]);
    const long = keptBy(0, ['z'.repeat(70)]);
    long.fact(answered(0, { kept: 'z'.repeat(70) }));
    expect(long.page('c0', 2)).toEqual({ text: 'z'.repeat(6), of: 2 });
  });

  it('an answer of the conversation can be read too, once it is there', () => {
    const kept = keptBy(1_000);
    expect(kept.page('late', 1)).toBeNull();
    const call = { type: 'tool-call' as const, toolCallId: 'late', toolName: 'search', input: {} };
    messages.push({ role: 'assistant', content: [call] });
    messages.push({ role: 'tool', content: [result('early', 'one')] });
    messages.push({ role: 'tool', content: [result('late', 'two')] });
    expect(kept.page('late', 1)).toEqual({ text: 'two', of: 1 });
    messages.length = 1;
    // It was read, so it stays readable.
    expect(kept.page('late', 1)).toEqual({ text: 'two', of: 1 });
    expect(kept.page('early', 1)).toBeNull();
  });

  it('only an answer that was kept is a result', () => {
    const kept = keptBy(1_000);
    kept.fact({ type: 'tool.started', callId: 'c0', kept: 'no' } as unknown as Fact);
    expect(kept.page('c0', 1)).toBeNull();
  });
});

describe('the calls that policies see', () => {
  it('are the valid ones of the agent, once they are answered', () => {
    const conversation = { inputOf: (index: number) => ({ index }), plan: null } as unknown as Conversation;
    const past = new PastCalls(conversation, new Map());
    const call = (more: object) => ({ tool: 'real', input: 'valid', refusal: null, ...more }) as unknown as CallFacts;
    const replied = (...calls: CallFacts[]) => ({ type: 'attempt.replied', calls }) as unknown as Fact;
    past.fact(answered(0));
    past.fact(
      replied(
        call({}),
        call({ tool: 'report' }),
        call({ input: 'invalid' }),
        call({ refusal: { slug: 'depth_exceeded' } }),
        call({ refusal: { slug: 'tool_limit' } }),
        call({ refusal: { slug: 'policy_denied' } }),
      ),
    );
    for (let index = 0; index < 7; index += 1)
      past.fact(answered(index, index === 5 ? { executed: false, slug: 'policy_denied' } : {}));
    past.fact({ ...answered(0), type: 'tool.started' } as unknown as Fact);
    const same = { name: 'search', canUndo: false, speaker: null };
    expect(past.all).toEqual([
      { callId: 'c0', key: 'turn-1/attempt-2/tool-0', input: { index: 0 }, executed: true, slug: null, ...same },
      {
        callId: 'c5',
        key: 'turn-1/attempt-2/tool-5',
        input: { index: 5 },
        executed: false,
        slug: 'policy_denied',
        ...same,
      },
    ]);
  });
});

describe("the user's own state", () => {
  const event = (type: string, path: string[] = []) => ({ type, path }) as unknown as SessionEvent;

  it("follows the session's events, but no sub-agent's", () => {
    const failures: unknown[] = [];
    const count = slice({ seen: [] as string[] }, ({ seen }, { type }) => ({ seen: [...seen, type] }));
    const slices = new Slices({ count }, (...failure) => failures.push(failure));
    expect(slices.states).toEqual({ count: { seen: [] } });
    slices.event(event('turn.started'));
    slices.event(event('turn.started', ['helper']));
    slices.event(event('turn.finished'));
    expect(slices.states).toEqual({ count: { seen: ['turn.started', 'turn.finished'] } });
    expect(failures).toEqual([]);
  });

  it('a reducer that throws or gives a promise is reported once and not called again; the others go on', async () => {
    const failures: [string, unknown][] = [];
    const throwing = slice(1, () => {
      throw new Error('no');
    });
    const waiting = slice(2, (() => Promise.reject(new Error('late'))) as never);
    const counting = slice(0, (sum) => sum + 1);
    const slices = new Slices({ throwing, waiting, counting } as never, (...failure) => failures.push(failure));
    for (const type of ['one', 'two', 'three']) slices.event(event(type));
    await new Promise(setImmediate);
    expect(slices.states).toEqual({ throwing: 1, waiting: 2, counting: 3 });
    expect(failures).toEqual([
      ['slice throwing', new Error('no')],
      ['slice waiting', new TypeError('a reducer must return its state, not a promise')],
    ]);
  });
});
