import type { AnyMachineSnapshot, EventObject } from 'xstate';
import {
  emptySize,
  freshTargets,
  nothingSpent,
  noUsage,
  type SessionInput,
  sessionMachine,
} from '../../../machines/index.ts';
import type { TurnOutput } from '../../../machines/turn/turn.types.ts';
import type { Walk } from '../explore.ts';
import { abort, broke, delivered, done, preparation, stop } from './shared.ts';

export const turnClassOf = ({ status, exhaustion }: TurnOutput): string =>
  status === 'exhausted' ? `exhausted: ${exhaustion?.why}` : status;

const turnOutput = (over: Partial<TurnOutput>): TurnOutput => ({
  status: 'progressed',
  exhaustion: null,
  slugs: [],
  detail: null,
  attempts: 1,
  targets: freshTargets(['one']),
  current: 0,
  spent: nothingSpent,
  at: 0,
  size: emptySize,
  gated: [],
  ...over,
});
const exhausted = (exhaustion: TurnOutput['exhaustion']): TurnOutput =>
  turnOutput({ status: 'exhausted', exhaustion, slugs: ['empty_response'] });

export const turnOutputs: TurnOutput[] = [
  turnOutput({ status: 'finished' }),
  turnOutput({ status: 'progressed' }),
  turnOutput({ status: 'aborted' }),
  exhausted({ why: 'attempts', retryAt: null }),
  exhausted({ why: 'budget', retryAt: null }),
  exhausted({ why: 'targets', retryAt: null }),
  exhausted({ why: 'limited', retryAt: 90_000 }),
  exhausted({ why: 'context', retryAt: null }),
];

export function sessionWalk(maxTurns: number, over: Partial<SessionInput> = {}): Walk {
  const input: SessionInput = {
    bound: { maxTurns, maxRetries: 2 },
    maxToolCalls: 5,
    targets: ['one'],
    finish: 'report',
    budget: { requests: null, tokens: null, costUsd: null, deadlineAt: 60_000 },
    window: { windowTokens: null, reserveTokens: 0 },
    plansTurns: false,
    at: 0,
    ...over,
  };
  const events = (snapshot: AnyMachineSnapshot): EventObject[] => {
    // Once, since every steering makes the request larger.
    const isSteered = snapshot.context.size.steering > 0 || over.compactsAt !== undefined;
    const compacts = over.compactsAt !== undefined && !snapshot.context.compactRequested;
    const outside = [
      ...[stop, abort, ...(isSteered ? [] : [{ type: 'session.steer', text: 'Go on.' }])],
      ...(compacts ? [{ type: 'session.compact' }] : []),
      ...(over.sharesBudget && snapshot.context.gated.length === 0 ? [{ type: 'session.gated', target: 0 }] : []),
    ];
    const collapses = [
      { type: 'collapse.requested', reason: 'final_report_rejected', slugs: ['final_report_missing'] },
      { type: 'collapse.requested', reason: 'budget', slugs: ['budget_exhausted'] },
    ];
    const deadline = [done('deadline', delivered({})), broke('deadline')];
    if (snapshot.matches({ running: 'preparing' })) {
      return [
        done('prepare', delivered(preparation(100))),
        done('prepare', delivered({ ok: false, slug: 'tools_unavailable', message: 'no' })),
        broke('prepare'),
        ...deadline,
        ...outside,
      ];
    }
    if (snapshot.matches({ running: 'compacting' })) {
      const asked = { target: 'one', usage: noUsage, guessedTokens: 0, costUsd: 0 };
      const size = { tokens: 200, results: [], oldText: 0 };
      return [
        done('compact', delivered({ ok: true, ranges: [[1, 3]], message: 'Before.', asked: null, ...size })),
        done('compact', delivered({ ok: true, ranges: [[1, 3]], message: 'Before.', asked, ...size })),
        done('compact', delivered({ ok: false, detail: 'no', asked })),
        broke('compact'),
        ...deadline,
        ...outside,
      ];
    }
    if (snapshot.matches({ running: 'planning' })) {
      const plan = {
        speaker: null,
        targets: [0],
        once: true,
        own: null,
        instructions: null,
        tools: null,
        offered: null,
        settings: null,
      };
      return [
        done('plan', delivered({ ok: true, plan, growth: 0 })),
        ...(over.window === undefined ? [] : [done('plan', delivered({ ok: true, plan, growth: 10_000 }))]),
        done('plan', delivered({ ok: false, slug: 'turn_not_prepared', message: 'no' })),
        broke('plan'),
        ...deadline,
        ...outside,
      ];
    }
    if (snapshot.matches({ running: 'turning' })) {
      const spent = [1, 2].map((requests) => turnOutput({ spent: { requests, tokens: 100, costUsd: 0 } }));
      // What turns lead to, other walks take; those with compactions take what leads to and from these.
      const usual = over.compactsAt === undefined ? turnOutputs : turnOutputs.slice(0, 4);
      const outputs = over.budget === undefined ? usual : [...usual, ...spent];
      const full = over.window === undefined ? [] : [turnOutput({ size: { ...emptySize, counted: 10_000 } })];
      return [
        ...[...outputs, ...full].map((output) => done('turn', output)),
        broke('turn'),
        ...(over.compactsAt === undefined ? collapses : []),
        ...deadline,
        ...outside,
      ];
    }
    return snapshot.matches('closing') ? [done('close', delivered({})), broke('close'), ...outside] : [];
  };
  return { machine: sessionMachine, input, events };
}

/** Identifies a session state by the fields that affect the bound. Whole contexts would give too many paths. */
export const sessionKey = ({ value, status, context }: AnyMachineSnapshot) =>
  JSON.stringify([
    value,
    status,
    context.turn,
    context.maxTurns,
    context.stopRequested,
    context.compactRequested,
    context.summarised,
    context.abortReason,
    context.ending?.status,
  ]);
