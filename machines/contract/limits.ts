/** The bound and the budget: what a session may spend, and the rules that say when it has. */

/** The two numbers of the bound (B-1): integers >= 1, checked when the agent is defined. */
export type Bound = { maxTurns: number; maxRetries: number };

/** The most requests that a session sends (B-2). */
export function requestBound(bound: Bound): number {
  return bound.maxTurns * bound.maxRetries;
}

/** Turns shrink and never grow (B-4): the new `maxTurns` after a collapse in `turn`. */
export function collapsed(maxTurns: number, turn: number): number {
  return Math.min(maxTurns, turn + 1);
}

export type CollapseReason = 'final_report_rejected' | 'context_guard' | 'stop_requested' | 'budget';

/**
 * A budget beside the bound; null means no limit. `requests` is a ceiling: the last one is kept for the report. The
 * others are spent when they are reached, and then one more request is allowed for the report.
 */
export type Budget = {
  requests: number | null;
  tokens: number | null;
  costUsd: number | null;
  /** Epoch ms. */
  deadlineAt: number | null;
};

export type Spent = { requests: number; tokens: number; costUsd: number };

export const nothingSpent: Spent = { requests: 0, tokens: 0, costUsd: 0 };

export function spentTogether(one: Spent, other: Spent): Spent {
  return {
    requests: one.requests + other.requests,
    tokens: one.tokens + other.tokens,
    costUsd: one.costUsd + other.costUsd,
  };
}

/**
 * How many requests a sub-agent may send, its own sub-agents included (B-7): its bound, as far as the tree's limit goes
 * beside what is spent and what is granted to others; one is kept for the report of the session that asks.
 */
export function requestGrant(limit: number | null, used: number, granted: number, childBound: number): number {
  if (limit === null) return childBound;
  return Math.max(0, Math.min(childBound, limit - used - granted - 1));
}

/** How many more requests the budget lets a session send at `at`: any number, or one for the report, or none. */
export function requestsLeft(budget: Budget, spent: Spent, at: number): 'many' | 'one' | 'none' {
  const requests = budget.requests === null ? Number.POSITIVE_INFINITY : budget.requests - spent.requests;
  if (requests <= 0) return 'none';
  const over =
    (budget.tokens !== null && spent.tokens >= budget.tokens) ||
    (budget.costUsd !== null && spent.costUsd >= budget.costUsd) ||
    (budget.deadlineAt !== null && at >= budget.deadlineAt);
  return over || requests === 1 ? 'one' : 'many';
}
