import type { Clock } from '../../host/clock.ts';
import type { SessionBudget } from '../../session/options.ts';
import type { SessionResult } from '../../session/session.ts';

/** Totals over the sessions of a run. `costUsd` is null if a model has no price. */
export type RunSpending = {
  sessions: number;
  requests: number;
  inputTokens: number;
  outputTokens: number;
  costUsd: number | null;
};

/** The spending of a run, and its remaining budget (B-7). */
export class Spending {
  readonly totals: RunSpending = { sessions: 0, requests: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };
  private readonly budget: SessionBudget;
  private readonly clock: Clock;
  private readonly endsAt: number | null;

  constructor(budget: SessionBudget, clock: Clock) {
    this.budget = budget;
    this.clock = clock;
    this.endsAt = budget.wallClockMs === undefined ? null : clock.now() + budget.wallClockMs;
  }

  add({ counters }: Pick<SessionResult, 'counters'>): void {
    const { totals } = this;
    const { sessions, requests, tokens, costUsd } = counters.tree;
    totals.sessions += sessions;
    totals.requests += requests;
    totals.inputTokens += tokens.input;
    totals.outputTokens += tokens.output;
    totals.costUsd = totals.costUsd === null || costUsd === null ? null : totals.costUsd + costUsd;
  }

  /** Returns what remains of each limit. */
  left(): SessionBudget {
    const { requests, tokens, costUsd } = this.budget;
    const { totals, endsAt } = this;
    return {
      ...(requests !== undefined && { requests: requests - totals.requests }),
      ...(tokens !== undefined && { tokens: tokens - totals.inputTokens - totals.outputTokens }),
      ...(costUsd !== undefined && { costUsd: costUsd - (totals.costUsd ?? costUsd) }),
      // Some time may have passed since the last call of `spent`.
      ...(endsAt !== null && { wallClockMs: Math.max(1, endsAt - this.clock.now()) }),
    };
  }

  /** Returns the limit that has been reached, in a few words; null if no limit has been reached. */
  spent(): string | null {
    const { requests, tokens, costUsd, wallClockMs } = this.budget;
    const words: [keyof SessionBudget, string][] = [
      ['requests', `${requests} requests`],
      ['tokens', `${tokens} tokens`],
      ['costUsd', `$${costUsd}`],
      ['wallClockMs', `${wallClockMs} ms`],
    ];
    const { endsAt } = this;
    const left = { ...this.left(), ...(endsAt !== null && { wallClockMs: endsAt - this.clock.now() }) };
    return words.find(([name]) => (left[name] ?? 1) <= 0)?.[1] ?? null;
  }
}
