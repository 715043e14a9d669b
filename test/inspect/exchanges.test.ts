import { describe, expect, it } from 'vitest';
import type { Fact, Message } from '../../machines/index.ts';
import type { RecordingPart, ShownRequest } from '../../src/inspect/recorded/recording-data.ts';
import type { Row } from '../../src/inspect/recorded/row-list.ts';
import type { ShownRecording } from '../../src/inspect/recorded/shown-recording.ts';
import { compare } from '../../src/inspect/study/compare.ts';
import { callInput, exchangeAt } from '../../src/inspect/study/exchange.ts';
import { changed, handMade, headOf } from '../support/hand-made.ts';

const begun: Fact = { type: 'session.started', maxTurns: 4, maxRetries: 3, targets: ['a'] };
const started = (turn: number, attempt = 1): Fact => ({
  type: 'attempt.started',
  turn,
  attempt,
  target: `target-${turn}`,
  notice: null,
  offer: 'all',
});
const replied = (turn: number, attempt = 1, callId = 'c1') => {
  const call = { type: 'tool-call' as const, callId, name: 'read', input: '{"q":1}', providerMetadata: null };
  const content = [{ type: 'text' as const, text: 'hm', providerMetadata: null }, call];
  return { type: 'attempt.replied', turn, attempt, target: 'a', reply: { content }, fault: null } as unknown as Fact;
};
const answered = (index: number) => ({ type: 'tool.answered', turn: 1, attempt: 1, index }) as unknown as Fact;
const ended = (type: 'failed' | 'finished' | 'progressed' | 'aborted') =>
  ({ type: `attempt.${type}`, turn: 1, attempt: 1, target: 'a', slugs: [], detail: null }) as Fact;

const said = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
const result = (toolCallId: string) =>
  ({ role: 'tool', content: [{ type: 'tool-result', toolCallId }] }) as unknown as Message;
const request = (turn: number, attempt: number, messages: number, own: Partial<ShownRequest> = {}) =>
  ({ scope: '', turn, attempt, version: 0, messages, tools: 0, omitted: [], ...own }) as ShownRequest;
const tools = (...names: string[]) => names.map((name) => ({ name })) as unknown as RecordingPart['tools'][number];

describe('S-8: the exchange at a moment', () => {
  const exchange = (facts: Fact[], own: Partial<RecordingPart> = {}, told = facts.length) =>
    exchangeAt(handMade([], facts, own), { told, scope: '' });

  it('is none before the first request, nor with the requests of a sub-agent', () => {
    expect(exchange([begun])).toBeNull();
    expect(exchangeAt(handMade([], [{ scope: 'c1', fact: started(1) }]), { told: 1, scope: '' })).toBeNull();
  });

  it('is that of the latest attempt, as a whole, whatever was known by then', () => {
    const facts = [started(1), replied(1), answered(1), answered(0), ended('finished'), started(2)];
    const changes = [...changed(1, { requests: 1 }), ...changed(6, { requests: 2 })];
    expect(exchange(facts, { changes }, 1)).toMatchObject({ turn: 1, attempt: 1, target: 'target-1', number: 1 });
    for (const told of [1, 3, 5])
      expect(exchange(facts, { changes }, told)).toMatchObject({
        ...{ request: null, replied: facts[1], repliedTold: 2, answers: [facts[3], facts[2]], ended: facts[4] },
      });
    expect(exchange([started(1), replied(1)])).toMatchObject({ ended: null, endedAt: null });
    expect(exchange(facts, { changes })).toMatchObject({ turn: 2, number: 2, replied: null, answers: [], ended: null });
  });

  it.each(['failed', 'finished', 'progressed', 'aborted'] as const)('knows that its attempt %s', (type) => {
    expect(exchange([started(1), ended(type)])?.ended).toEqual(ended(type));
  });

  it('marks each message as kept, new or gone, beside the request before', () => {
    const messages = [
      { scope: '', version: 0, from: 0, messages: [said('a'), said('b')] },
      { scope: '', version: 0, from: 2, messages: [said('c')] },
    ];
    const requests = [request(1, 1, 2), request(2, 1, 3)];
    const shown = (facts: Fact[]) =>
      exchange(facts, { messages, requests, tools: [tools('x')] })?.messages.map(({ message, change }) => [
        message.role === 'user' ? message.content[0] : null,
        change,
      ]);
    const text = (value: string) => ({ type: 'text', text: value });
    expect(shown([started(1)])).toEqual([
      [text('a'), 'new'],
      [text('b'), 'new'],
    ]);
    expect(shown([started(1), started(2)])).toEqual([
      [text('a'), 'kept'],
      [text('b'), 'kept'],
      [text('c'), 'new'],
    ]);
  });

  it('a message that the request no longer has is gone', () => {
    const messages = [{ scope: '', version: 0, from: 0, messages: [said('a'), said('b'), said('c')] }];
    const requests = [request(1, 1, 3), request(2, 1, 1)];
    const shown = exchange([started(1), started(2)], { messages, requests })?.messages;
    expect(shown?.map(({ change }) => change)).toEqual(['kept', 'gone', 'gone']);
  });

  it('marks a result that is left out, wherever it stands', () => {
    const messages = [
      { scope: '', version: 0, from: 0, messages: [result('c1'), said('b'), result('c2'), result('c3')] },
    ];
    const requests = [request(1, 1, 1), request(2, 1, 4, { omitted: ['c1', 'c3'] })];
    const shown = exchange([started(1), started(2)], { messages, requests })?.messages;
    expect(shown?.map(({ change, isOmitted }) => [change, isOmitted])).toEqual([
      ['kept', true],
      ['new', false],
      ['new', false],
      ['new', true],
    ]);
  });

  it('names the tools that it offers, and those that came and went', () => {
    const own = {
      tools: [tools('x', 'y'), tools('y', 'z')],
      requests: [request(1, 1, 0), request(2, 1, 0, { tools: 1 })],
    };
    expect(exchange([started(1)], own)?.tools).toEqual({ names: ['x', 'y'], added: [], removed: [] });
    expect(exchange([started(1), started(2)], own)?.tools).toEqual({ names: ['y', 'z'], added: ['z'], removed: ['x'] });
  });

  it.each([
    [3, 1, 2],
    [2, 2, 2],
    [2, 1, 1],
    [1, 1, null],
  ])('before it is noted as sent, the request before turn %i, attempt %i is the latest', (turn, attempt, at) => {
    const sent = [request(1, 1, 0), request(2, 1, 0)].filter((one) => one.turn !== turn || one.attempt !== attempt);
    const found = exchange([started(turn, attempt)], { requests: [...sent, request(1, 1, 0, { scope: 'c1' })] });
    expect([found?.request, found?.previous?.turn ?? null]).toEqual([null, at]);
  });

  it('has the input of a call as its reply has it', () => {
    const facts = [started(1), replied(1, 1, 'c1'), started(1, 2), replied(1, 2, 'c2')];
    const recorded = handMade([], [...facts, { scope: 'c9', fact: replied(1, 1, 'c3') }]);
    const of = (turn: number, attempt: number, callId: string, scope = '') =>
      callInput(recorded, { scope, turn, attempt, callId } as Row);
    expect([of(1, 1, 'c1'), of(1, 2, 'c2'), of(1, 1, 'c3', 'c9')]).toEqual(['{"q":1}', '{"q":1}', '{"q":1}']);
    expect([of(1, 1, 'c2'), of(1, 2, 'c1'), of(2, 1, 'c1'), of(1, 1, 'c3')]).toEqual([null, null, null, null]);
  });
});

describe('S-8: two recordings side by side', () => {
  const failed = (turn: number, detail: string | null = null): Fact => ({
    type: 'attempt.failed',
    turn,
    attempt: 1,
    target: 'a',
    slugs: [],
    detail,
  });

  it('the same facts are the same, and times do not count', () => {
    const wait = (dueAt: number): Fact => ({ type: 'wait.started', turn: 1, attempt: 1, target: 'a', dueAt });
    const end = (retryAt: number): Fact => ({
      type: 'session.failed',
      turns: 1,
      failure: { slugs: [], retryAt, detail: null },
    });
    const one = handMade([], [begun, wait(1), end(1)]);
    expect(compare(one, handMade([], [begun, wait(2), end(2)]))).toEqual({
      given: [],
      same: 3,
      facts: [3, 3],
      first: null,
      attempts: [],
      counters: [],
    });
  });

  it.each<[string, Fact[], Fact[], string, Fact | null, Fact | null]>([
    [
      'an attempt',
      [begun, started(1), failed(1)],
      [begun, started(1), failed(1, 'x')],
      'turn-1/attempt-1',
      failed(1),
      failed(1, 'x'),
    ],
    [
      'a turn',
      [begun, { type: 'turn.started', turn: 2, isLastTurn: false }],
      [begun],
      'turn-2',
      { type: 'turn.started', turn: 2, isLastTurn: false },
      null,
    ],
    [
      'the attempt before, if neither has one',
      [begun, started(3), { type: 'session.stopping' }],
      [begun, started(3)],
      'turn-3/attempt-1',
      { type: 'session.stopping' },
      null,
    ],
    [
      'the session',
      [begun],
      [{ ...begun, maxTurns: 9 } as Fact],
      'the session',
      begun,
      { ...begun, maxTurns: 9 } as Fact,
    ],
    ['what only the other has', [], [begun], 'the session', null, begun],
  ])('the first difference is in %s', (_, facts, others, key, one, other) => {
    expect(compare(handMade([], facts), handMade([], others)).first).toEqual({ key, one, other });
  });

  it('the first difference of all is the earliest, whichever session it is in', () => {
    const sub = (fact: Fact) => ({ scope: 'c1', fact });
    const one = handMade([], [begun, sub(begun), sub({ type: 'session.stopping' }), failed(1)]);
    const other = handMade([], [begun, sub(begun), sub({ type: 'session.steered', text: 'x' }), failed(2)]);
    const { first, same, facts } = compare(one, other);
    expect([same, facts, first]).toEqual([
      2,
      [4, 4],
      {
        key: 'the sub-agent c1',
        one: { type: 'session.stopping' },
        other: { type: 'session.steered', text: 'x' },
      },
    ]);
    expect(compare(other, one).first?.key).toBe('the sub-agent c1');
  });

  it('an attempt is the same if its own facts are, until its end', () => {
    const progress = (message: string): Fact => ({
      type: 'progress.reported',
      turn: 1,
      attempt: 1,
      callId: 'c',
      message,
    });
    const attempt = (message: string, after: Fact, others = 0) =>
      handMade(
        [],
        [
          begun,
          ...Array.from({ length: others }, () => ({ scope: 'c1', fact: progress('of a sub-agent') })),
          started(1),
          { scope: 'c1', fact: progress(message) },
          progress(message === 'x' ? 'x' : 'half'),
          failed(1),
          after,
        ],
      );
    const isSame = (one: ShownRecording, other: ShownRecording) => compare(one, other).attempts[0]?.isSame;
    expect(isSame(attempt('a', begun), attempt('b', { type: 'session.stopping' }, 2))).toBe(true);
    expect(isSame(attempt('a', begun), attempt('x', begun))).toBe(false);
  });

  it('of the later attempts of a turn, the first is the least', () => {
    const facts = [begun, ...[3, 1, 2].flatMap((number) => [started(1, number), failed(1)])];
    expect(compare(handMade([], facts), handMade([], [])).attempts.map(({ key }) => key)).toEqual([
      'turn-1/attempt-1',
      'turn-1/attempt-2',
      'turn-1/attempt-3',
    ]);
  });

  it('attempts stand in their order: those of the session first, then those of each sub-agent', () => {
    const sub = (scope: string, fact: Fact) => ({ scope, fact });
    const both = [begun, started(1), failed(1), started(2), failed(2)];
    const one = handMade(
      [],
      [...both, sub('c2', begun), sub('c2', started(1)), sub('c1', begun), sub('c1', started(1))],
    );
    const other = handMade([], [begun, started(2), failed(2), started(1), failed(1), started(1, 2)]);
    expect(
      compare(one, other).attempts.map(({ key, one: left, other: right, isSame }) => [
        key,
        left?.told,
        right?.told,
        isSame,
      ]),
    ).toEqual([
      ['turn-1/attempt-1', 2, 4, true],
      ['turn-1/attempt-2', undefined, 6, false],
      ['turn-2/attempt-1', 4, 2, true],
      ['c1/turn-1/attempt-1', 9, undefined, false],
      ['c2/turn-1/attempt-1', 7, undefined, false],
    ]);
  });

  it('names what they were given that differs', () => {
    const head = (own: object) => handMade([], [], { heads: [{ scope: '', head: headOf(2, 2, own) }] });
    const same = { agent: 'a', prompt: 'p', messages: [said('p')], machines: '1' };
    const given = (own: object) => compare(head(same), head({ ...same, ...own })).given;
    expect(given({ sessionId: 's2' })).toEqual([]);
    expect(given({ agent: 'b', machines: '2' })).toEqual(['agent', 'machines']);
    expect(given({ prompt: null, messages: [] })).toEqual(['prompt', 'messages']);
    expect(given({ input: { bound: { maxTurns: 3, maxRetries: 2 } } })).toEqual(['bound']);
    expect(compare(head(same), handMade([], [])).given).toEqual(['agent', 'prompt', 'messages', 'machines', 'bound']);
  });

  it('the numbers that differ at the end; one that is missing is 0', () => {
    const one = handMade([], [begun, begun], {
      changes: [...changed(1, { a: 1, b: 2, c: 0, d: null }), ...changed(2, { a: 3 })],
    });
    const other = handMade([], [begun], { changes: changed(1, { b: 2, e: 5 }) });
    expect(compare(one, other).counters).toEqual([
      { path: 'a', one: 3, other: 0 },
      { path: 'd', one: null, other: 0 },
      { path: 'e', one: 0, other: 5 },
    ]);
  });
});
