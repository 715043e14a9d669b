import { moneyLeft } from '../../../machines/index.ts';
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

/** The budget of one session. What it did not spend is returned when it ends. */
export type Grant = { budget: SessionBudget; end(result: Pick<SessionResult, 'counters'> | null): void };

/** The spending of a run, and its remaining budget (B-7). */
export class Spending {
  readonly totals: RunSpending = { sessions: 0, requests: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };
  private readonly budget: SessionBudget;
  private readonly clock: Clock;
  private readonly endsAt: number | null;
  /** The number of items in progress, each of which may have a session. */
  sharers = 1;
  private readonly grants = new Set<SessionBudget>();
  /** The sessions that wait for a grant. */
  private readonly waiting: (() => void)[] = [];

  constructor(budget: SessionBudget, clock: Clock) {
    this.budget = budget;
    this.clock = clock;
    this.endsAt = budget.wallClockMs === undefined ? null : clock.now() + budget.wallClockMs;
  }

  /**
   * Grants a session its share of what is left, so that concurrent sessions cannot spend the same budget. Waits while
   * other sessions hold all that is left. Returns the limit, in a few words, once it has been reached.
   */
  async grant(): Promise<Grant | { spent: string }> {
    for (;;) {
      const spent = this.spent();
      if (spent !== null) return { spent };
      const left = this.left([...this.grants]);
      if (reached(left) === null) return this.granted(left);
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  private granted({ requests, tokens, costUsd, wallClockMs }: SessionBudget): Grant {
    const shares = Math.max(1, this.sharers - this.grants.size);
    const budget: SessionBudget = {
      ...(requests !== undefined && { requests: Math.ceil(requests / shares) }),
      ...(tokens !== undefined && { tokens: Math.ceil(tokens / shares) }),
      ...(costUsd !== undefined && { costUsd: costUsd / shares }),
      ...(wallClockMs !== undefined && { wallClockMs }),
    };
    this.grants.add(budget);
    return {
      budget,
      end: (result) => {
        this.grants.delete(budget);
        if (result !== null) this.add(result);
        for (const resolve of this.waiting.splice(0)) resolve();
      },
    };
  }

  private add({ counters }: Pick<SessionResult, 'counters'>): void {
    const { totals } = this;
    const { sessions, requests, tokens, costUsd } = counters.tree;
    totals.sessions += sessions;
    totals.requests += requests;
    totals.inputTokens += tokens.input;
    totals.outputTokens += tokens.output;
    totals.costUsd = totals.costUsd === null || costUsd === null ? null : totals.costUsd + costUsd;
  }

  /** Returns the limit that has been reached, in a few words; null if no limit has been reached. */
  spent(): string | null {
    const name = reached(this.left([]));
    if (name === null) return null;
    const limit = this.budget[name];
    return {
      requests: `${limit} requests`,
      tokens: `${limit} tokens`,
      costUsd: `$${limit}`,
      wallClockMs: `${limit} ms`,
    }[name];
  }

  /** Returns what is left, if these grants are spent whole. */
  private left(grants: readonly SessionBudget[]): SessionBudget {
    const { requests, tokens, costUsd } = this.budget;
    const { totals, endsAt } = this;
    const granted = (name: keyof SessionBudget) => grants.reduce((sum, grant) => sum + (grant[name] ?? 0), 0);
    return {
      ...(requests !== undefined && { requests: requests - totals.requests - granted('requests') }),
      ...(tokens !== undefined && { tokens: tokens - totals.inputTokens - totals.outputTokens - granted('tokens') }),
      ...(costUsd !== undefined && { costUsd: moneyLeft(costUsd, (totals.costUsd ?? costUsd) + granted('costUsd')) }),
      ...(endsAt !== null && { wallClockMs: endsAt - this.clock.now() }),
    };
  }
}

function reached(left: SessionBudget): keyof SessionBudget | null {
  return (['requests', 'tokens', 'costUsd', 'wallClockMs'] as const).find((name) => (left[name] ?? 1) <= 0) ?? null;
}
