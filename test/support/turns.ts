import type { AttemptOutput } from '../../machines/attempt/attempt.types.ts';
import {
  type Budget,
  emptySize,
  freshTargets,
  nothingSpent,
  type TurnContext,
  type TurnInput,
} from '../../machines/index.ts';
import * as turn from '../../machines/turn/turn.rules.ts';

export const noBudget: Budget = { requests: null, tokens: null, costUsd: null, deadlineAt: null };

export const input: TurnInput = {
  turn: 2,
  isLastTurn: false,
  lastTurnSlugs: ['stopped'],
  maxAttempts: 3,
  maxToolCalls: 5,
  finish: 'report',
  targets: freshTargets(['one', 'two']),
  order: [0, 1],
  permits: null,
  current: 0,
  budget: noBudget,
  spent: nothingSpent,
  at: 1_000,
  window: { windowTokens: 1_000, reserveTokens: 100 },
  size: { ...emptySize, omitted: ['a'] },
  gated: [],
  sharesBudget: false,
  stopSlug: null,
};
export const context = (over: Partial<TurnContext> = {}): TurnContext => ({
  ...turn.freshTurn(input),
  attempt: 1,
  ...over,
});
export const failed = (over: Partial<AttemptOutput> = {}): AttemptOutput => ({
  ...turn.brokenOutput(),
  slugs: ['text_only'],
  at: 2_000,
  ...over,
});
export const out = (name: string) => ({ ...freshTargets([name])[0], status: 'out' }) as TurnContext['targets'][number];
export const limited = (name: string, limitedUntil: number) =>
  ({ ...freshTargets([name])[0], limitedUntil }) as TurnContext['targets'][number];
