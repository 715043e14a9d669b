import { describe, it } from 'vitest';
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
import { expectGolden } from '../../support/golden.ts';

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
    size: emptySize,
    ...over,
  });
  const prepared = (outcome: PrepareOutcome) =>
    session.afterPreparing(context(), { delivered: { at: 5, chance: 0, outcome } });
  const spent = (over: Partial<Budget>) =>
    context({ budget: { ...noBudget, ...over }, spent: { requests: 3, tokens: 30, costUsd: 1 } });

  it('between turns match the golden file', () =>
    expectGolden('session-turns.txt', {
      'the input of a turn': session.turnInput(context({ lastTurnSlugs: ['stopped'] })),
      'after a stop': session.turnInput(context({ stopRequested: true })).stopSlug,
      'of the last turn': session.turnInput(context({ turn: 5 })).isLastTurn,
      'with one request left': session.turnInput(spent({ requests: 4 })).maxAttempts,
      'with two left': session.turnInput(spent({ requests: 5 })).maxAttempts,
      'after a turn': session.afterTurn(output()),
      'after preparing': prepared({
        ok: true,
        instructions: 'Be brief.',
        messages: null,
        tokens: 7,
        results: [],
        unavailable: [],
      }),
      'after preparing in vain': prepared({ ok: false, slug: 'tools_unavailable', message: 'no' }),
    }));

  it('T-7: on the next turn’s plan match the golden file', () => {
    const planned = (outcome: PlanOutcome) =>
      session.afterPlanning(context(), { delivered: { at: 5, chance: 0, outcome } });
    const plan = {
      speaker: 'billing',
      targets: [0, 7],
      once: true,
      own: 'Be kind.',
      instructions: 'Be kind.',
      tools: ['a'],
      settings: { seed: 1 },
    };
    return expectGolden('session-plans.txt', {
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
    });
  });

  it('B-4 T-6: on collapse, context and budget match the golden file', () =>
    expectGolden('session-measures.txt', {
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
    }));

  it('S-3: at its end match the golden file', () =>
    expectGolden('session-ends.txt', {
      attempts: session.failureOf(context({ lastTurnSlugs: ['stopped'] }), output()),
      'attempts, on the last turn': session.failureOf(context({ turn: 5 }), output()),
      budget: session.failureOf(context({ turn: 5 }), output({ exhaustion: { why: 'budget', retryAt: null } })),
      targets: session.failureOf(context(), output({ exhaustion: { why: 'targets', retryAt: null } })),
      context: session.failureOf(context(), output({ exhaustion: { why: 'context', retryAt: null } })),
      limited: session.failureOf(context(), output({ exhaustion: { why: 'limited', retryAt: 7 } })),
      'without a reason': session.failureOf(context(), output({ exhaustion: null })),
      unready: session.unready({ ok: false, slug: 'tools_unavailable', message: 'no' }),
      'prepared, and ended all the same': session.unready(preparation(0)),
      aborted: session.aborted(context({ abortReason: 'enough' })),
      'out of turns': session.outOfTurns(context({ turn: 5, lastTurnSlugs: ['context_guard'] })),
      'out of requests': session.outOfTurns(context()),
      'the fact of a success': session.endFact(context({ ending: { status: 'succeeded' } })),
      'of a failure': session.endFact(context({ ending: session.failed('internal_error', 'no') })),
      'of an abort': session.endFact(context({ ending: session.aborted(context({ abortReason: 'enough' })) })),
      'of nothing': session.endFact(context()),
    }));
});
