import { describe, it } from 'vitest';
import type { AttemptOutput } from '../../../machines/attempt/attempt.types.ts';
import { faultKinds } from '../../../machines/contract/faults.ts';
import {
  afterFault,
  afterReply,
  type Budget,
  chooseTarget,
  emptySize,
  faultSlug,
  freshTargets,
  nothingSpent,
  orderFrom,
  type TurnContext,
  type TurnInput,
} from '../../../machines/index.ts';
import * as turn from '../../../machines/turn/turn.rules.ts';
import { expectGolden } from '../../support/golden.ts';
import { fault, usage } from '../../support/replies.ts';

const noBudget: Budget = { requests: null, tokens: null, costUsd: null, deadlineAt: null };

describe('B-1 B-5 P-2 P-3 T-3: the decisions of a turn', () => {
  const input: TurnInput = {
    turn: 2,
    isLastTurn: false,
    lastTurnSlugs: ['stopped'],
    maxAttempts: 3,
    maxToolCalls: 5,
    finish: 'report',
    targets: freshTargets(['one', 'two']),
    order: [0, 1],
    current: 0,
    budget: noBudget,
    spent: nothingSpent,
    at: 1_000,
    window: { windowTokens: 1_000, reserveTokens: 100 },
    size: { ...emptySize, omitted: ['a'] },
    stopSlug: null,
  };
  const context = (over: Partial<TurnContext> = {}): TurnContext => ({ ...turn.freshTurn(input), attempt: 1, ...over });
  const failed = (over: Partial<AttemptOutput> = {}): AttemptOutput => ({
    ...turn.brokenOutput(),
    slugs: ['text_only'],
    at: 2_000,
    ...over,
  });
  const out = (name: string) => ({ ...freshTargets([name])[0], status: 'out' }) as TurnContext['targets'][number];
  const limited = (name: string, limitedUntil: number) =>
    ({ ...freshTargets([name])[0], limitedUntil }) as TurnContext['targets'][number];

  it('at its start match the golden file', () =>
    expectGolden('turn-beginnings.txt', {
      plain: Object.fromEntries(Object.entries(turn.freshTurn(input)).filter(([name]) => !(name in input))),
      'the last turn': turn.freshTurn({ ...input, isLastTurn: true }).reportOnly,
      'one request left': turn.freshTurn({ ...input, budget: { ...noBudget, requests: 1 } }).reportOnly,
      'two requests left': turn.freshTurn({ ...input, budget: { ...noBudget, requests: 2 } }).reportOnly,
    }));

  it('before an attempt match the golden file', () =>
    expectGolden('attempt-inputs.txt', {
      first: turn.attemptInput(context()),
      'second, after a failure': turn.attemptInput(context({ attempt: 2, last: failed(), current: 1 })),
      'first, report only': turn.attemptInput(context({ reportOnly: true })),
      'second, report only': turn.attemptInput(context({ reportOnly: true, attempt: 2, last: failed() })),
      'by text': turn.attemptInput(context({ finish: 'text' })),
      'no such target': turn.attemptInput(context({ current: 9 })),
      'its fact': turn.attemptFact(context({ attempt: 2, last: failed() })),
    }));

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

  it('after a wait or a stop match the golden file', () => {
    const due = { budget: { ...noBudget, deadlineAt: 3_000 }, waiting: { target: 1, dueAt: 2_500 } };
    const stop = (slug: 'stopped' | 'budget_exhausted', at: number | null) =>
      ({ type: 'turn.stop', slug, at }) as const;
    return expectGolden('after-waits-and-stops.txt', {
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
    });
  });

  it('P-2: on the next target match the golden file', () =>
    expectGolden('next-targets.txt', {
      'the first of the order': turn.nextTarget(context({ current: 1, order: [1, 0] })),
      'the one after the failed one': turn.nextTarget(context({ last: failed() })),
      'wrapping round': turn.nextTarget(context({ current: 1, last: failed() })),
      'the one after, in another order': turn.nextTarget(context({ order: [1, 0], last: failed() })),
      'a failed one that the order lacks': turn.nextTarget(context({ current: 1, order: [0], last: failed() })),
      remain: [turn.targetsRemain(context()), turn.targetsRemain(context({ targets: [out('one')] }))],
      'remain, after a while': turn.targetsRemain(context({ targets: [limited('one', 61_000)] })),
      'remain, after too long': turn.targetsRemain(context({ targets: [limited('one', 62_000)] })),
    }));

  it('at its end match the golden file', () =>
    expectGolden('turn-ends.txt', {
      'it can': turn.exhaustionOf(context()),
      'no attempt': turn.exhaustionOf(context({ attempt: 3 })),
      'no attempt, one request left': turn.exhaustionOf(
        context({ attempt: 3, budget: { ...noBudget, tokens: 1 }, spent: { requests: 1, tokens: 1, costUsd: 0 } }),
      ),
      'no request': turn.exhaustionOf(
        context({ budget: { ...noBudget, requests: 1 }, spent: { requests: 1, tokens: 1, costUsd: 0 } }),
      ),
      'no target': turn.exhaustionOf(context({ targets: [out('one')], attempt: 3 })),
      'all limited for long': turn.exhaustionOf(context({ targets: [limited('one', 62_000)] })),
      'all limited for long, and no attempt': turn.exhaustionOf(
        context({ targets: [limited('one', 62_000)], attempt: 3 }),
      ),
      'all limited for long, and no request': turn.exhaustionOf(
        context({
          targets: [limited('one', 62_000)],
          budget: { ...noBudget, requests: 1 },
          spent: { requests: 1, tokens: 1, costUsd: 0 },
        }),
      ),
      'all limited for a while': turn.exhaustionOf(context({ targets: [limited('one', 61_000)] })),
      'excluded: not': turn.exclusionFacts(context({ last: failed({ fault: fault('auth') }) })),
      'excluded: not by this attempt': turn.exclusionFacts(context({ targets: [out('one')], last: failed() })),
      'excluded: before the first': turn.exclusionFacts(context({ targets: [out('one')], last: null })),
      excluded: turn.exclusionFacts(context({ targets: [out('one')], last: failed({ fault: fault('auth') }) })),
      'excluded: no such target': turn.exclusionFacts(context({ current: 9, last: failed({ fault: fault('auth') }) })),
      'output: nothing happened': turn.outputOf(context({ attempt: 0, status: 'aborted' })),
      'output: succeeded': turn.outputOf(context({ last: failed({ slugs: [] }), status: 'progressed' })),
      'output: exhausted': turn.outputOf(
        context({ attempt: 3, last: failed({ fault: fault('server'), detail: 'server' }), status: 'exhausted' }),
      ),
      'output: exhausted for no reason': turn.outputOf(context({ status: 'exhausted' })),
    }));

  it('B-4: on collapses match the golden file', () => {
    const spent = { budget: { ...noBudget, tokens: 1 }, spent: { requests: 1, tokens: 1, costUsd: 0 } };
    const rejected = failed({ reportSlugs: ['final_report_missing', 'final_report_missing'] });
    return expectGolden('collapse-requests.txt', {
      'before the first attempt': turn.collapseRequests(context({ ...spent, last: null })),
      'it finished': turn.collapseRequests(context({ ...spent, last: { ...rejected, status: 'finished' } })),
      'a rejected report': turn.collapseRequests(context({ last: rejected })),
      'the budget': turn.collapseRequests(context({ ...spent, last: failed() })),
      both: turn.collapseRequests(context({ ...spent, last: rejected })),
      'nothing is wrong': turn.collapseRequests(context({ last: failed() })),
    });
  });

  it('P-2 P-3: on the state and choice of targets match the golden file', () => {
    const three = freshTargets(['one', 'two', 'three']);
    return expectGolden('targets.txt', {
      ...Object.fromEntries(
        faultKinds.map((kind) => [`after ${kind}`, [afterFault(three, 1, fault(kind), 1_000, 0.5), faultSlug(kind)]]),
      ),
      'after a Retry-After': afterFault(three, 0, fault('rate_limited', { retryAfterMs: 9_000 }), 1_000, 0.5),
      'after the second fault': afterFault(
        afterFault(three, 0, fault('network'), 0, 0.5),
        0,
        fault('network'),
        1_000,
        0.5,
      ),
      'after a reply': afterReply(afterFault(three, 0, fault('network'), 0, 0.5), 0),
      'the next, wrapping round': chooseTarget(three, orderFrom(three, 3), 0, 0),
      'past one that is out': chooseTarget([out('one'), ...three], [0, 1, 2, 3], 0, 0),
      'free at this moment': chooseTarget([limited('one', 5)], [0], 0, 5),
      'the earliest, the first of several': chooseTarget(
        [limited('one', 50), limited('two', 40), limited('three', 40)],
        [0, 1, 2],
        0,
        0,
      ),
      'within the longest wait': chooseTarget([limited('one', 60_000)], [0], 0, 0),
      'beyond it': chooseTarget([limited('one', 60_001)], [0], 0, 0),
      'of those that a plan names, in its order': chooseTarget(three, [2, 0], 0, 0),
      'the one after, of those that a plan names': chooseTarget(three, [2, 0], 1, 0),
      'of those that a plan names, wrapping round': chooseTarget(three, [2, 0], 2, 0),
      'none at all': chooseTarget([], [], 0, 0),
    });
  });
});
