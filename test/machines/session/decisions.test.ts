import { describe, expect, it } from 'vitest';
import {
  type Budget,
  emptySize,
  freshTargets,
  type PlanOutcome,
  type PrepareOutcome,
  type SessionContext,
  type TurnOutput,
} from '../../../machines/index.ts';
import * as session from '../../../machines/session/session.rules.ts';
import { preparation } from '../../graph/levels/shared.ts';
import { transcript } from '../../support/golden.ts';

const noBudget: Budget = { requests: null, tokens: null, costUsd: null, deadlineAt: null };

describe('B-3 B-4 T-6 F-1 S-3: the decisions of a session', () => {
  const context = (over: Partial<SessionContext> = {}): SessionContext => ({
    ...session.freshSession({
      bound: { maxTurns: 5, maxRetries: 2 },
      maxToolCalls: 4,
      targets: ['one'],
      finish: 'report',
      budget: noBudget,
      window: { windowTokens: 1_000, reserveTokens: 100 },
      plansTurns: false,
      at: 10,
    }),
    turn: 2,
    ...over,
  });
  const output = (over: Partial<TurnOutput> = {}): TurnOutput => ({
    status: 'exhausted',
    exhaustion: { why: 'attempts', retryAt: null },
    slugs: ['text_only'],
    detail: 'no',
    attempts: 2,
    targets: freshTargets(['one']),
    current: 0,
    spent: { requests: 3, tokens: 30, costUsd: 1 },
    at: 99,
    ...{ size: emptySize, gated: [] },
    ...over,
  });
  const prepared = (outcome: PrepareOutcome) =>
    session.afterPreparing(context(), { delivered: { at: 5, chance: 0, outcome } });
  const spent = (over: Partial<Budget>) =>
    context({ budget: { ...noBudget, ...over }, spent: { requests: 3, tokens: 30, costUsd: 1 } });

  it('between turns are these', () =>
    expect(
      transcript({
        'the input of a turn': session.turnInput(context({ lastTurnSlugs: ['stopped'] })),
        'after a stop': session.turnInput(context({ stopRequested: true })).stopSlug,
        'of the last turn': session.turnInput(context({ turn: 5 })).isLastTurn,
        'with one request left': session.turnInput(spent({ requests: 4 })).maxAttempts,
        'with two left': session.turnInput(spent({ requests: 5 })).maxAttempts,
        'after a turn': session.afterTurn(output()),
        'after preparing': prepared({ ...preparation(7), instructions: 'Be brief.' } as PrepareOutcome),
        'after preparing in vain': prepared({ ok: false, slug: 'tools_unavailable', message: 'no' }),
      }),
    ).toMatchInlineSnapshot(`
      "the input of a turn
        {
          turn: 2, isLastTurn: false, lastTurnSlugs: ["stopped"], maxAttempts: 2, maxToolCalls: 4, finish: "report",
          targets: [ &1 { name: "one", status: "living", limitedUntil: 0, faults: 0, windowTokens: 1000, mended: false } ], order: [0], permits: null,
          current: 0, budget: { requests: null, tokens: null, costUsd: null, deadlineAt: null }, spent: { requests: 0, tokens: 0, costUsd: 0 }, at: 10,
          window: { windowTokens: 1000, reserveTokens: 100 },
          size: &2 {
            counted: 0, estimated: 0, steering: 0, results: [], fresh: { results: [], counted: false }, text: { tokens: 0, counted: false }, omitted: [],
            omittedText: 0
          },
          gated: [], sharesBudget: false, stopSlug: null
        }

      after a stop
        "stopped"

      of the last turn
        true

      with one request left
        1

      with two left
        2

      after a turn
        {
          targets: [ *1 with { windowTokens: null } ], current: 0, spent: { requests: 3, tokens: 30, costUsd: 1 }, at: 99, size: *2, gated: []
        }

      after preparing
        {
          change: { at: 5, size: *2 with { estimated: 7 }, targets: [ *1 ], gated: [] },
          facts: [ { type: "session.prepared", instructions: "Be brief.", messages: null } ]
        }

      after preparing in vain
        { change: { at: 5 }, facts: [] }
      "
    `));

  it('T-7: on the next turn’s plan are these', () => {
    const planned = (outcome: PlanOutcome) =>
      session.afterPlanning(context(), { delivered: { at: 5, chance: 0, outcome } });
    const plan = {
      speaker: 'billing',
      targets: [0, 7],
      once: true,
      own: 'Be kind.',
      instructions: 'Be kind.',
      tools: ['a'],
      offered: null,
      settings: { seed: 1 },
    };
    expect(
      transcript({
        'what is asked': session.planRequest(context({ current: 3 })),
        'what is asked before the last turn': session.planRequest(context({ turn: 4 })),
        'a plan': planned({ ok: true, plan, growth: 7 }),
        'a plan that makes the request smaller': planned({ ok: true, plan, growth: -7 }).change.size?.estimated,
        'a smaller request that was counted': session.afterPlanning(
          context({ size: { ...emptySize, counted: 50, estimated: 9 } }),
          { delivered: { at: 5, chance: 0, outcome: { ok: true, plan, growth: -7 } } },
        ).change.size,
        'the next plan, without targets of its own': session.afterPlanning(context({ current: 1, home: 2 }), {
          delivered: { at: 5, chance: 0, outcome: { ok: true, plan: { ...plan, once: false }, growth: 0 } },
        }).change,
        'another one with some': session.afterPlanning(context({ current: 1, home: 2 }), {
          delivered: { at: 5, chance: 0, outcome: { ok: true, plan, growth: 0 } },
        }).change,
        'a plan in vain': planned({ ok: false, slug: 'turn_not_prepared', message: 'no' }),
        'the targets of the turn': session.turnInput(context({ planned: [2, 0], current: 1 })).order,
        'the ending': session.unready({ ok: false, slug: 'turn_not_prepared', message: 'no' }),
      }),
    ).toMatchInlineSnapshot(`
      "what is asked
        { turn: 3, isLastTurn: false, target: 3 }

      what is asked before the last turn
        { turn: 5, isLastTurn: true, target: 0 }

      a plan
        {
          change: {
            at: 5, planned: [0, 7], permits: ["a"], current: 0, home: 0,
            size: &1 {
              counted: 0, estimated: 7, steering: 0, results: [], fresh: { results: [], counted: false }, text: { tokens: 0, counted: false },
              omitted: [], omittedText: 0
            }
          },
          facts: [
            {
              type: "turn.planned", speaker: "billing", targets: ["one", ""], once: true, own: "Be kind.", instructions: "Be kind.", tools: ["a"],
              offered: null, settings: { seed: 1 }, turn: 3
            }
          ]
        }

      a plan that makes the request smaller
        0

      a smaller request that was counted
        *1 with { counted: 50, estimated: 9 }

      the next plan, without targets of its own
        &2 { at: 5, planned: [0, 7], permits: ["a"], current: 2, home: null, size: *1 with { estimated: 0 } }

      another one with some
        *2 with { current: 1, home: 2 }

      a plan in vain
        { change: { at: 5 }, facts: [] }

      the targets of the turn
        2
        0

      the ending
        { status: "failed", failure: { slugs: ["turn_not_prepared"], retryAt: null, detail: "no" } }
      "
    `);
  });

  it('B-4 T-6: on collapse, context and budget are these', () =>
    expect(
      transcript({
        'a collapse': session.collapse(context({ lastTurnSlugs: ['stopped'] }), {
          reason: 'budget',
          slugs: ['budget_exhausted', 'stopped'],
        }),
        'a second one records nothing': session.collapse(context({ maxTurns: 3 }), {
          reason: 'budget',
          slugs: ['budget_exhausted'],
        }),
        'it fits': session.contextMeasures(context({ size: { ...emptySize, counted: 810 } })),
        'the last turn': session.contextMeasures(context({ size: { ...emptySize, counted: 811 } })),
        'budget: many requests': session.budgetMeasures(spent({ requests: 5 })),
        'budget: one': session.budgetMeasures(spent({ requests: 4 })),
        'budget: none': session.budgetMeasures(spent({ requests: 3 })),
      }),
    ).toMatchInlineSnapshot(`
      "a collapse
        &1 {
          change: { maxTurns: 3, lastTurnSlugs: ["stopped", "budget_exhausted"] },
          facts: [ &2 { type: "session.collapsed", turn: 2, from: 5, to: 3, reason: "budget" } ]
        }

      a second one records nothing
        { change: &3 { maxTurns: 3, lastTurnSlugs: ["budget_exhausted"] }, facts: [] }

      it fits
        { change: {}, facts: [] }

      the last turn
        { change: { maxTurns: 3, lastTurnSlugs: ["context_guard"] }, facts: [ *2 with { reason: "context_guard" } ] }

      budget: many requests
        { change: {}, facts: [] }

      budget: one
        &4 *1 with { change: *3 }

      budget: none
        *4
      "
    `));

  it('S-3: at its end are these', () =>
    expect(
      transcript({
        attempts: session.failureOf(context({ lastTurnSlugs: ['stopped'] }), output()),
        'attempts, on the last turn': session.failureOf(context({ turn: 5 }), output()),
        budget: session.failureOf(context({ turn: 5 }), output({ exhaustion: { why: 'budget', retryAt: null } })),
        targets: session.failureOf(context(), output({ exhaustion: { why: 'targets', retryAt: null } })),
        context: session.failureOf(context(), output({ exhaustion: { why: 'context', retryAt: null } })),
        limited: session.failureOf(context(), output({ exhaustion: { why: 'limited', retryAt: 7 } })),
        'without a reason': session.failureOf(context(), output({ exhaustion: null })),
        unready: session.unready({ ok: false, slug: 'tools_unavailable', message: 'no' }),
        'an ending that no failure explains': session.unready(preparation(0)),
        aborted: session.aborted(context({ abortReason: 'enough' })),
        'out of turns': session.outOfTurns(context({ turn: 5, lastTurnSlugs: ['context_guard'] })),
        'out of requests': session.outOfTurns(context()),
        'the fact of a success': session.endFact(context({ ending: { status: 'succeeded' } })),
        'of a failure': session.endFact(context({ ending: session.failed('internal_error', 'no') })),
        'of an abort': session.endFact(context({ ending: session.aborted(context({ abortReason: 'enough' })) })),
        'of nothing': session.endFact(context()),
      }),
    ).toMatchInlineSnapshot(`
      "attempts
        &1 { slugs: ["retries_exhausted", "stopped", "text_only"], retryAt: null, detail: "no" }

      attempts, on the last turn
        { slugs: ["retries_exhausted", "max_turns_exhausted", "text_only"], retryAt: null, detail: "no" }

      budget
        *1 with { slugs: ["budget_exhausted", "text_only"] }

      targets
        &2 *1 with { slugs: ["no_targets", "text_only"] }

      context
        *1 with { slugs: ["context_guard", "text_only"] }

      limited
        *2 with { retryAt: 7 }

      without a reason
        *1 with { slugs: ["retries_exhausted", "text_only"] }

      unready
        { status: "failed", failure: *1 with { slugs: ["tools_unavailable"] } }

      an ending that no failure explains
        { status: "failed", failure: &3 *1 with { slugs: ["internal_error"], detail: null } }

      aborted
        { status: "aborted", failure: &4 *1 with { slugs: ["aborted"], detail: "enough" } }

      out of turns
        { status: "failed", failure: *3 with { slugs: ["max_turns_exhausted", "context_guard"] } }

      out of requests
        { status: "failed", failure: *3 with { slugs: ["budget_exhausted"] } }

      the fact of a success
        { type: "session.succeeded", turns: 2 }

      of a failure
        { type: "session.failed", turns: 2, failure: *3 with { detail: "no" } }

      of an abort
        { type: "session.aborted", turns: 2, failure: *4 }

      of nothing
        { type: "session.failed", turns: 2, failure: *3 with { detail: "the session ended without a reason" } }
      "
    `));
});
