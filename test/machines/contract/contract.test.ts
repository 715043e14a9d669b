import { describe, expect, it } from 'vitest';
import { createActor, setup } from 'xstate';
import type { EffectKind } from '../../../machines/contract/effects.ts';
import { type LeafLogic, leaves, workflowLeaves } from '../../../machines/contract/leaf.ts';
import {
  assistantMessage,
  type CallFacts,
  callFacts,
  count,
  effectLeaf,
  emptyCounters,
  emptySize,
  type Fact,
  guardContext,
  type HostEvent,
  historyName,
  noUsage,
  type Reply,
  type RequestSize,
  repairConversation,
  replyCalls,
  requestBound,
  requestsLeft,
  userMessage,
} from '../../../machines/index.ts';
import { expectGolden, transcript } from '../../support/golden.ts';

describe('S-4: the counters after each fact', () => {
  const where = { turn: 1, attempt: 1, target: 'one' };
  const call = { turn: 1, attempt: 1, index: 0, callId: 'a', name: 't' };
  const result = { success: true, value: null, message: '' };
  const answered = {
    ...call,
    type: 'tool.answered' as const,
    result,
    output: { type: 'text', value: '' } as const,
    tokens: 1,
    kept: null,
  };
  const failure = { slugs: ['no_targets', 'provider_auth'] as const, retryAt: null, detail: null };
  const facts: Fact[] = [
    { type: 'turn.started', turn: 1, isLastTurn: false },
    { type: 'attempt.started', ...where, notice: null, offer: 'all' },
    { type: 'attempt.started', ...where, notice: 'n', offer: 'all' },
    {
      type: 'attempt.replied',
      ...where,
      reply: null,
      fault: null,
      calls: [],
      usage: { ...noUsage, input: 3 },
      costUsd: 1,
    },
    { type: 'attempt.failed', ...where, slugs: ['text_only', 'tool_limit'], detail: null },
    { type: 'attempt.failed', ...where, slugs: ['text_only'], detail: null },
    { type: 'session.failed', turns: 1, failure: { ...failure, slugs: [...failure.slugs] } },
    { type: 'session.aborted', turns: 1, failure: { ...failure, slugs: ['aborted', 'text_only'] } },
    { type: 'session.collapsed', turn: 1, from: 3, to: 2, reason: 'budget' },
    { type: 'wait.started', ...where, dueAt: 1 },
    { type: 'tool.requested', ...call, kind: 'real' },
    { ...answered, executed: true, slug: null },
    { ...answered, executed: true, slug: 'tool_timeout' },
    { ...answered, executed: false, slug: null },
    { ...answered, executed: false, slug: 'tool_limit' },
    { type: 'report.rejected', turn: 1, attempt: 1, callId: null, slug: 'final_report_missing', reasons: '' },
    { type: 'report.accepted', turn: 1, attempt: 1, callId: null, source: 'tool_call', content: 1 },
    { type: 'attempt.progressed', ...where },
  ];

  it('match the golden file', () => {
    const counters = emptyCounters();
    const after = facts.map((fact, index) => {
      count(counters, fact);
      return [`${index + 1}. ${fact.type}`, structuredClone(counters)];
    });
    return expectGolden('counters.txt', Object.fromEntries(after));
  });
});

describe('D-1: a leaf', () => {
  /** Starts a leaf under a parent and records what both emit. */
  function started() {
    const heard: unknown[] = [];
    const leaf = effectLeaf('wait');
    const parent = setup({ actors: { leaf } }).createMachine({
      initial: 'waiting',
      states: {
        waiting: {
          invoke: {
            id: 'leaf',
            src: 'leaf',
            input: { key: 'k', request: { dueAt: 7, kind: 'backoff' } },
            onDone: 'done',
            onError: 'broken',
          },
          on: { leave: 'left' },
        },
        done: {},
        broken: {},
        left: {},
      },
    });
    const actor = createActor(parent, {
      inspect: (event) => {
        if (event.type === '@xstate.actor' && 'on' in event.actorRef) {
          (event.actorRef as typeof actor).on('*', ((emitted: HostEvent) =>
            heard.push(
              emitted.type === 'effect.requested' ? { type: emitted.type, effect: emitted.effect } : emitted,
            )) as never);
        }
      },
    }).start();
    const child = actor.getSnapshot().children.leaf;
    return { actor, child, heard, state: () => [actor.getSnapshot().value, child?.getSnapshot()] };
  }

  it('requests its effect once, and ends on delivery, on failure or on exit from its state', () => {
    const delivered = started();
    delivered.child?.send({ type: 'effect.delivered', delivered: { at: 5, chance: 0.5, outcome: {} } });
    const broke = started();
    broke.child?.send({ type: 'effect.broke', message: 'no' });
    const left = started();
    const waiting = left.state();
    left.actor.send({ type: 'leave' });
    expect(
      transcript({
        waiting,
        delivered: [delivered.heard, delivered.state()],
        broke: [broke.heard, broke.state()],
        left: [left.heard, left.state()],
      }),
    ).toMatchInlineSnapshot(`
      "waiting
        "waiting"
        &1 { status: "active", output: undefined, error: undefined, key: "k", request: &2 { dueAt: 7, kind: "backoff" } }

      delivered
        [ &3 { type: "effect.requested", effect: { kind: "wait", key: "k", request: *2 } } ]
        [ "done", *1 with { status: "done", output: { at: 5, chance: 0.5, outcome: {} } } ]

      broke
        [ *3 ]
        [ "broken", *1 with { status: "error", error: "no" } ]

      left
        [ *3, { type: "effect.cancelled", key: "k" } ]
        [ "left", *1 with { status: "stopped" } ]
      "
    `);
  });

  it('requests the effect it is named after', () => {
    const all = Object.entries<LeafLogic<EffectKind>>({ ...leaves, ...workflowLeaves } as never);
    const asked = all.map(([name, leaf]) => {
      let kind: string | null = null;
      const emit = (event: HostEvent) => {
        if (event.type === 'effect.requested') ({ kind } = event.effect);
      };
      leaf.start?.({ key: name, request: {} } as never, { emit, self: null } as never);
      return [name, kind];
    });
    expect(asked).toEqual(all.map(([name]) => [name, name]));
    expect(asked).toHaveLength(18);
  });
});

describe('small rules', () => {
  it('keys, call facts and messages have the expected shape', () => {
    expect(callFacts('a', 't', 'real')).toEqual({
      callId: 'a',
      name: 't',
      tool: 'real',
      input: 'valid',
      detail: '',
      wholeInput: false,
      needsApproval: false,
      isClientSide: false,
      refusal: null,
      within: null,
      report: null,
      provided: null,
    } satisfies CallFacts);
    expect(userMessage('Hi')).toEqual({ role: 'user', content: [{ type: 'text', text: 'Hi' }] });
    const words = { type: 'text', text: 'x', ended: true } as const;
    const asked = { type: 'tool-call', callId: 'a', name: 't', input: '', providerExecuted: false } as const;
    const reply = {
      content: [words, asked],
      finishReason: null,
      errors: [],
      openInputs: [],
      provider: 'p',
    } as unknown as Reply;
    expect(replyCalls(reply)).toEqual([asked]);
    expect(assistantMessage({ ...reply, content: [] }, new Set())).toBeNull();
    // Every object has a property of this name, so it gets a suffix.
    expect(historyName('constructor')).toBe('constructor_');
  });

  it('B-2: the bound is maxTurns x maxRetries, and a budget limits the requests left', () => {
    expect(requestBound({ maxTurns: 4, maxRetries: 3 })).toBe(12);
    const none = { requests: null, tokens: null, costUsd: null, deadlineAt: null };
    const spent = { requests: 1, tokens: 10, costUsd: 2 };
    const left = (over: object, at = 5) => requestsLeft({ ...none, ...over }, spent, at);
    expect([
      left({}),
      left({ requests: 3 }),
      left({ requests: 2 }),
      left({ requests: 1 }),
      left({ requests: 0 }),
    ]).toEqual(['many', 'many', 'one', 'none', 'none']);
    expect([
      left({ tokens: 11 }),
      left({ tokens: 10 }),
      left({ costUsd: 2.1 }),
      left({ costUsd: 2 }),
      left({ costUsd: 1 }),
    ]).toEqual(['many', 'one', 'many', 'one', 'one']);
    expect([left({ deadlineAt: 6 }), left({ deadlineAt: 5 }), left({ deadlineAt: 4 })]).toEqual(['many', 'one', 'one']);
  });

  it('T-6: the context guard is exact at its limits', () => {
    const result = (callId: string, tokens: number, isFresh = false) => ({ callId, tokens, isFresh });
    const sizeOf = (counted: number, results: ReturnType<typeof result>[], tokens = 0): RequestSize => ({
      ...{ ...emptySize, counted, text: { tokens, counted: true } },
      results: results.filter(({ isFresh }) => !isFresh),
      fresh: { results: results.filter(({ isFresh }) => isFresh), counted: true },
    });
    const guard = (
      windowTokens: number | null,
      ...[counted, results, notice]: [number, ReturnType<typeof result>[], number?]
    ) => guardContext({ windowTokens, reserveTokens: 100 }, sizeOf(counted, results), notice);
    expect(guard(null, 10_000, [])).toEqual({ kind: 'fits', omit: [], omitText: 0 });
    expect(guard(1_000, 810, [])).toEqual({ kind: 'fits', omit: [], omitText: 0 });
    expect(guard(1_000, 811, [])).toEqual({ kind: 'final_turn_now', omit: [], omitText: 0 });
    expect(guard(1_000, 900, [])).toEqual({ kind: 'final_turn_now', omit: [], omitText: 0 });
    expect(guard(1_000, 901, [])).toEqual({ kind: 'full', omit: [], omitText: 0 });
    expect(guard(1_000, 820, [], 64)).toEqual({ kind: 'final_turn_now', omit: [], omitText: 0 });
    expect(guard(1_000, 821, [], 64)).toEqual({ kind: 'full', omit: [], omitText: 0 });
    // Leaving out 600 counted tokens frees 450, less 100 for the stub.
    expect(guard(1_000, 900, [result('a', 600)])).toEqual({ kind: 'fits', omit: [], omitText: 0 });
    expect(guard(1_000, 901, [result('a', 600), result('b', 600)])).toEqual({ kind: 'fits', omit: ['a'], omitText: 0 });
    expect(guard(1_000, 1_251, [result('a', 600)])).toEqual({ kind: 'full', omit: ['a'], omitText: 0 });
    expect(guard(1_000, 1_250, [result('a', 600)])).toEqual({ kind: 'final_turn_now', omit: ['a'], omitText: 0 });
    // A result no larger than its stub stays.
    expect(guard(1_000, 950, [result('a', 133)])).toEqual({ kind: 'full', omit: [], omitText: 0 });
    const mixed = [result('old', 600), result('small', 700, true), result('large', 800, true)];
    expect(guard(1_000, 1_000, mixed).omit).toEqual(['old']);
    expect(guard(1_000, 1_700, mixed).omit).toEqual(['old', 'large']);
    // Old text goes after old results, and before fresh ones: 400 counted tokens free 300.
    const withText = (counted: number, tokens: number) =>
      guardContext({ windowTokens: 1_000, reserveTokens: 100 }, sizeOf(counted, mixed, tokens));
    expect(withText(1_200, 400)).toEqual({ kind: 'fits', omit: ['old'], omitText: 0 });
    expect(withText(1_300, 400)).toEqual({ kind: 'fits', omit: ['old'], omitText: 367 });
    expect(withText(1_700, 400)).toEqual({ kind: 'fits', omit: ['old', 'large'], omitText: 400 });
  });

  it('C-6: a user message between others keeps its place', () => {
    const messages = [
      userMessage('One'),
      { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'Two' }] },
      userMessage('Three'),
    ];
    expect(repairConversation(messages).messages).toEqual(messages);
  });
});
