import { describe, expect, it } from 'vitest';
import type { AttemptOutput } from '../../../machines/attempt/attempt.types.ts';
import type { Budget, TurnContext } from '../../../machines/index.ts';
import * as turn from '../../../machines/turn/turn.rules.ts';
import { expectGolden, transcript } from '../../support/golden.ts';
import { fault, usage } from '../../support/replies.ts';
import { context, failed, input, limited, noBudget, out } from '../../support/turns.ts';

describe('B-1 B-5 P-2 P-3 T-3: the decisions of a turn', () => {
  it('at its start are these', () =>
    expect(
      transcript({
        plain: Object.fromEntries(Object.entries(turn.freshTurn(input)).filter(([name]) => !(name in input))),
        'the last turn': turn.freshTurn({ ...input, isLastTurn: true }).reportOnly,
        'one request left': turn.freshTurn({ ...input, budget: { ...noBudget, requests: 1 } }).reportOnly,
        'two requests left': turn.freshTurn({ ...input, budget: { ...noBudget, requests: 2 } }).reportOnly,
      }),
    ).toMatchInlineSnapshot(`
      "plain
        { attempt: 0, reportOnly: false, last: null, waiting: null }

      the last turn
        true

      one request left
        true

      two requests left
        false
      "
    `));

  it('before an attempt are these', () =>
    expect(
      transcript({
        first: turn.attemptInput(context()),
        'second, after a failure': turn.attemptInput(context({ attempt: 2, last: failed(), current: 1 })),
        'first, report only': turn.attemptInput(context({ reportOnly: true })),
        'second, report only': turn.attemptInput(context({ reportOnly: true, attempt: 2, last: failed() })),
        'last, report only': turn.attemptInput(context({ reportOnly: true, attempt: 3, last: failed() })).offer,
        'first and last, report only': turn.attemptInput(context({ reportOnly: true, maxAttempts: 1 })).offer,
        'by text': turn.attemptInput(context({ finish: 'text' })),
        'no such target': turn.attemptInput(context({ current: 9 })),
        'its fact': turn.attemptFact(context({ attempt: 2, last: failed() })),
      }),
    ).toMatchInlineSnapshot(`
      "first
        &1 {
          turn: 2, attempt: 1, target: { index: 0, name: "one" }, notice: null, offer: "all", permission: "all", finish: "report", omit: ["a"],
          omitText: 0, maxToolCalls: 5, stopSlug: null
        }

      second, after a failure
        {
          turn: 2, attempt: 2, target: { index: 1, name: "two" },
          notice: $2 "system notice: your last reply was text without a tool call; text alone is not delivered to anybody (text_only). T"
          "urn 2 did not progress, because no tool was executed and no final report was accepted. Make a tool call to go on, "
          "or deliver your result through the final report. This is attempt 2 of 3.",
          offer: "all", permission: "all", finish: "report", omit: ["a"], omitText: 0, maxToolCalls: 5, stopSlug: null
        }

      first, report only
        *1 with {
          notice: "system notice: This is the last turn because the session is being stopped (stopped). Do not call any other tool; c"
          "all final_report now, with your complete result.",
          permission: "report"
        }

      second, report only
        {
          turn: 2, attempt: 2, target: { index: 0, name: "one" },
          notice: "system notice: your last reply was text without a tool call; text alone is not delivered to anybody (text_only). T"
          "urn 2 did not progress, because no tool was executed and no final report was accepted. This is the last turn becau"
          "se the session is being stopped (stopped). Do not call any other tool; call final_report now, with your complete r"
          "esult. This is attempt 2 of 3.",
          offer: "all", permission: "report", finish: "report", omit: ["a"], omitText: 0, maxToolCalls: 5, stopSlug: null
        }

      last, report only
        "report"

      first and last, report only
        "all"

      by text
        *1 with { finish: "text" }

      no such target
        *1 with { target: { index: 9, name: "" } }

      its fact
        { type: "attempt.started", turn: 2, attempt: 2, target: "one", notice: $2, offer: "all" }
      "
    `));

  it('after an attempt match the golden file', () => {
    const left = (budget: Partial<Budget>, over: Partial<AttemptOutput> = {}, at: Partial<TurnContext> = {}) =>
      turn.afterAttempt(
        context({ budget: { ...noBudget, ...budget }, ...at }),
        failed({ usage, costUsd: 0.5, ...over }),
      );
    return expectGolden('after-attempts.txt', {
      'many are left': left({}),
      'a time that did not come': left({}, { at: null }),
      'no price': left({}, { costUsd: null }),
      'tokens are spent': left({ tokens: 15 }),
      'tokens are not quite spent': left({ tokens: 16 }),
      'requests: one is left': left({ requests: 2 }),
      'requests: none is left': left({ requests: 1 }),
      'the last attempt, with the budget spent': left({ tokens: 15 }, {}, { attempt: 3 }),
      'a sub-agent spent it': left({ tokens: 100 }, { subAgentsSpent: { requests: 3, tokens: 90, costUsd: 1 } }),
      'after a fault': left({}, { fault: fault('server'), chance: 0.5 }),
      'report only stays': left({}, {}, { reportOnly: true }),
      broken: turn.brokenAttempt(context(), { error: new Error('oops') }),
    });
  });

  it('after a wait or a stop are these', () => {
    const due = { budget: { ...noBudget, deadlineAt: 3_000 }, waiting: { target: 1, dueAt: 2_500 } };
    const stop = (slug: 'stopped' | 'budget_exhausted', at: number | null) =>
      ({ type: 'turn.stop', slug, at }) as const;
    expect(
      transcript({
        'waited, with time left': turn.afterWait(context(due), { at: 2_500 }),
        'waited until the deadline': turn.afterWait(context(due), { at: 3_000 }),
        'waited for what is not known': turn.afterWait(context({ ...due, waiting: null }), { at: null }),
        'time does not go back': turn.afterWait(context({ ...due, at: 9_000 }), { at: 2_500 }).change.at,
        stopped: turn.afterStop(context(due), stop('stopped', null)),
        'the deadline': turn.afterStop(context({ ...due, lastTurnSlugs: [] }), stop('budget_exhausted', 3_000)),
        'the deadline, in the last attempt': turn.afterStop(
          context({ ...due, attempt: 3 }),
          stop('budget_exhausted', 3_001),
        ),
        'an attempt that ended before it': turn.afterAttempt(context({ ...due, at: 3_000 }), failed()),
      }),
    ).toMatchInlineSnapshot(`
      "waited, with time left
        {
          change: &1 {
            at: 2500, reportOnly: false, lastTurnSlugs: ["stopped"], maxAttempts: 3, attempt: 2,
            size: &2 {
              counted: 0, estimated: 0, steering: 0, results: [], fresh: { results: [], counted: false }, text: { tokens: 0, counted: false },
              omitted: ["a"], omittedText: 0
            },
            current: 1, waiting: null
          },
          facts: []
        }

      waited until the deadline
        {
          change: *1 with { at: 3000, reportOnly: true, lastTurnSlugs: ["stopped", "budget_exhausted"], maxAttempts: 2 }, facts: []
        }

      waited for what is not known
        { change: *1 with { at: 1000, current: 0 }, facts: [] }

      time does not go back
        9000

      stopped
        { at: 1000, reportOnly: false, lastTurnSlugs: ["stopped"], maxAttempts: 3, stopSlug: "stopped" }

      the deadline
        &3 {
          at: 3000, reportOnly: true, lastTurnSlugs: ["budget_exhausted"], maxAttempts: 2, stopSlug: "budget_exhausted"
        }

      the deadline, in the last attempt
        *3 with { at: 3001, lastTurnSlugs: ["stopped", "budget_exhausted"], maxAttempts: 3 }

      an attempt that ended before it
        {
          last: {
            status: "failed", slugs: ["text_only"], fault: null, detail: null, reportSlugs: [], at: 2000, chance: 0,
            usage: { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 }, guessedTokens: 0, costUsd: 0, measured: null, results: [],
            subAgentsSpent: &4 { requests: 0, tokens: 0, costUsd: 0 }
          },
          spent: *4 with { requests: 1 },
          targets: [
            &5 { name: "one", status: "living", limitedUntil: 0, faults: 0, windowTokens: null, mended: false }, *5 with { name: "two" }
          ],
          size: *2, at: 3000, reportOnly: true, lastTurnSlugs: ["stopped", "budget_exhausted"], maxAttempts: 2
        }
      "
    `);
  });

  it('P-2: on the next target are these', () =>
    expect(
      transcript({
        'the first of the order': turn.nextTarget(context({ current: 1, order: [1, 0] })),
        'the one after the failed one': turn.nextTarget(context({ last: failed() })),
        'wrapping round': turn.nextTarget(context({ current: 1, last: failed() })),
        'the one after, in another order': turn.nextTarget(context({ order: [1, 0], last: failed() })),
        'a failed one that the order lacks': turn.nextTarget(context({ current: 1, order: [0], last: failed() })),
        remain: [turn.targetsRemain(context()), turn.targetsRemain(context({ targets: [out('one')] }))],
        'remain, after a while': turn.targetsRemain(context({ targets: [limited('one', 61_000)] })),
        'remain, after too long': turn.targetsRemain(context({ targets: [limited('one', 62_000)] })),
      }),
    ).toMatchInlineSnapshot(`
      "the first of the order
        { kind: "free", target: 1 }

      the one after the failed one
        { kind: "free", target: 1 }

      wrapping round
        { kind: "free", target: 0 }

      the one after, in another order
        { kind: "free", target: 1 }

      a failed one that the order lacks
        { kind: "free", target: 0 }

      remain
        true
        false

      remain, after a while
        true

      remain, after too long
        false
      "
    `));
});
