import { type AnyMachineSnapshot, type EventObject, enqueueActions } from 'xstate';
import type { AttemptOutput } from '../../../machines/attempt/attempt.types.ts';
import type { Delivered } from '../../../machines/contract/effects.ts';
import { faultKinds } from '../../../machines/contract/faults.ts';
import {
  emptySize,
  faultSlug,
  freshTargets,
  nothingSpent,
  noUsage,
  orderFrom,
  turnMachine,
} from '../../../machines/index.ts';
import { collapseFor } from '../../../machines/turn/admission.rules.ts';
import { brokenOutput, collapseRequests } from '../../../machines/turn/turn.rules.ts';
import type { TurnInput } from '../../../machines/turn/turn.types.ts';
import type { Walk } from '../explore.ts';
import { abort, broke, delivered, done, stops } from './shared.ts';

export const attemptClassOf = ({ status, fault, reportSlugs }: AttemptOutput): string =>
  [status, ...(fault === null ? [] : [fault.kind]), ...(reportSlugs.length === 0 ? [] : ['report rejected'])].join(
    ', ',
  );

const attemptOutput = (over: Partial<AttemptOutput>): AttemptOutput => ({
  ...brokenOutput(),
  slugs: [],
  at: 0,
  chance: 0.5,
  ...over,
});

export const attemptOutputs: AttemptOutput[] = [
  attemptOutput({ status: 'finished' }),
  // The same reply also had a report that was rejected.
  attemptOutput({ status: 'finished', reportSlugs: ['final_report_missing'] }),
  attemptOutput({ status: 'progressed' }),
  attemptOutput({ status: 'progressed', reportSlugs: ['final_report_missing'] }),
  attemptOutput({ status: 'aborted', slugs: ['aborted'] }),
  attemptOutput({ status: 'aborted', slugs: ['aborted'], reportSlugs: ['final_report_missing'] }),
  attemptOutput({ slugs: ['empty_response'] }),
  attemptOutput({ slugs: ['final_report_missing'], reportSlugs: ['final_report_missing'] }),
  ...faultKinds.map((kind) =>
    attemptOutput({
      slugs: [faultSlug(kind)],
      fault: { kind, message: 'no', status: null, retryAfterMs: null },
      detail: 'no',
    }),
  ),
];

export function turnWalk(maxAttempts: number, targets: readonly string[], over: Partial<TurnInput> = {}): Walk {
  const input: TurnInput = {
    turn: 1,
    permits: null,
    isLastTurn: false,
    lastTurnSlugs: [],
    maxAttempts,
    maxToolCalls: 5,
    finish: 'report',
    targets: freshTargets(targets, over.window?.windowTokens),
    order: orderFrom(over.targets ?? freshTargets(targets), 0),
    current: 0,
    budget: { requests: null, tokens: null, costUsd: null, deadlineAt: null },
    spent: nothingSpent,
    at: 0,
    window: { windowTokens: null, reserveTokens: 0 },
    size: emptySize,
    gated: [],
    sharesBudget: false,
    stopSlug: null,
    ...over,
  };
  const late = attemptOutput({
    slugs: ['rate_limited'],
    fault: { kind: 'rate_limited', message: 'no', status: 429, retryAfterMs: 90_000 },
  });
  const costly = attemptOutput({ slugs: ['empty_response'], usage: { ...noUsage, input: 1_000 } });
  const full = attemptOutput({
    slugs: ['empty_response'],
    measured: { tokens: 10_000, failed: 10_000, counted: true, oldText: 0 },
  });
  const asking = ['failed', 'progressed'].map((status) =>
    attemptOutput({
      status: status === 'failed' ? 'failed' : 'progressed',
      subAgentsSpent: { ...nothingSpent, requests: 1 },
    }),
  );
  const hasWindow = over.window !== undefined;
  const outputs = [
    ...attemptOutputs,
    late,
    ...(over.budget === undefined ? [] : [costly]),
    ...(input.budget.requests === null ? [] : asking),
    ...(hasWindow ? [full] : []),
  ];
  const admissions = (['many', 'one', 'none'] as const).flatMap((left) =>
    (input.sharesBudget ? [true] : [true, false]).map((isGated) => done('admission', delivered({ left, isGated }))),
  );
  const isShared = input.sharesBudget || input.gated.length > 0;
  const events = (snapshot: AnyMachineSnapshot): EventObject[] => {
    const gate = isShared && !snapshot.context.gated.includes(0) ? [{ type: 'session.gated', target: 0 }] : [];
    // Once, since every steering makes the request larger.
    const isSteered = !hasWindow || snapshot.context.size.steering + snapshot.context.size.estimated > 0;
    const steering = isSteered ? [] : [{ type: 'session.steer', text: 'Go on. '.repeat(5_000) }];
    if (snapshot.matches('attempting')) {
      return [
        ...outputs.map((output) => done('attempt', output)),
        broke('attempt'),
        ...steering,
        ...stops,
        ...gate,
        abort,
      ];
    }
    if (snapshot.matches('queuing')) {
      return [...admissions, broke('admission'), ...steering, ...stops, ...gate, abort];
    }
    if (snapshot.matches('backingOff')) {
      return [done('wait', delivered({})), broke('wait'), ...steering, ...stops, ...gate, abort];
    }
    return [];
  };
  return { machine: turnMachine, input, events };
}

/** Emits requests instead of sending them, because pure transitions have no parent. Paths use the real machine. */
export function withoutParent(walk: Walk): Walk {
  const requestCollapse = enqueueActions(({ context, enqueue }) => {
    for (const request of collapseRequests(context as never)) enqueue.emit(request as never);
  });
  const collapseForBudget = enqueueActions(({ enqueue }, { delivered }: { delivered: Delivered<'admission'> }) => {
    for (const request of collapseFor(delivered)) enqueue.emit(request as never);
  });
  return { ...walk, machine: walk.machine.provide({ actions: { requestCollapse, collapseForBudget } } as never) };
}
