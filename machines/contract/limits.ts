import type { Slug } from './slugs.ts';

/** The bound and the budget: a session's spending limits and the rules that check them. */

/** The bound's two numbers (B-1): integers >= 1, checked when the agent is defined. */
export type Bound = { maxTurns: number; maxRetries: number };

/** Returns the maximum number of requests in a session (B-2). */
export function requestBound(bound: Bound): number {
  return bound.maxTurns * bound.maxRetries;
}

/** Returns the new `maxTurns` after a collapse in `turn`; it never grows (B-4). */
export function collapsed(maxTurns: number, turn: number): number {
  return Math.min(maxTurns, turn + 1);
}

export type CollapseReason = 'final_report_rejected' | 'context_guard' | 'stop_requested' | 'budget';

/** Why a session must end soon; `slugs` is for the model. */
export type CollapseCause = { reason: CollapseReason; slugs: readonly Slug[] };

/** Asks the session to collapse, while a turn runs (B-4). */
export type CollapseRequest = { type: 'collapse.requested' } & CollapseCause;

/**
 * Limits in addition to the bound; null means no limit. `requests` is a hard limit, and its last request is reserved
 * for the report. When any other limit is reached, one more request may ask for the report.
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

/** What a session and its sub-agents may still spend; null means no limit. */
export type Allowance = Omit<Budget, 'deadlineAt'>;

/** Returns what is left of an amount of money. Sums of fractions are inexact, so a billionth of the amount is nothing. */
export function moneyLeft(amount: number, spent: number): number {
  const left = amount - spent;
  return left <= amount / 1e9 ? 0 : left;
}

/** Returns what is left for sub-agents (B-7). One request is reserved for the calling session's report. */
export function leftForSubAgents({ requests, tokens, costUsd }: Allowance, spent: Spent, reserved: Spent): Allowance {
  return {
    requests: requests === null ? null : Math.max(0, requests - spent.requests - reserved.requests - 1),
    tokens: tokens === null ? null : Math.max(0, tokens - spent.tokens - reserved.tokens),
    costUsd: costUsd === null ? null : moneyLeft(costUsd, spent.costUsd + reserved.costUsd),
  };
}

/**
 * Shares what is left among sub-agents that start together (B-7): each gets at most its bound of requests, an equal share
 * of the rest, and nothing that another got. Null stands for a grant without requests, tokens or money.
 */
export function fairGrants(left: Allowance, bounds: readonly number[]): (Allowance | null)[] {
  let { requests, tokens, costUsd } = left;
  return bounds.map((bound, index) => {
    const share = bounds.length - index;
    const grant = {
      requests: requests === null ? bound : Math.min(bound, Math.floor(requests / share)),
      tokens: tokens === null ? null : Math.floor(tokens / share),
      costUsd: costUsd === null ? null : costUsd / share,
    };
    if (grant.requests < 1 || grant.tokens === 0 || grant.costUsd === 0) return null;
    if (requests !== null) requests -= grant.requests;
    if (tokens !== null) tokens -= grant.tokens ?? 0;
    if (costUsd !== null) costUsd -= grant.costUsd ?? 0;
    return grant;
  });
}

/** How many more requests a budget allows: many, one (for the report) or none. */
export type RequestsLeft = 'many' | 'one' | 'none';

/** Returns how many more requests the budget allows at `at`. */
export function requestsLeft(budget: Budget, spent: Spent, at: number): RequestsLeft {
  const requests = budget.requests === null ? Number.POSITIVE_INFINITY : budget.requests - spent.requests;
  if (requests <= 0) return 'none';
  const over =
    (budget.tokens !== null && spent.tokens >= budget.tokens) ||
    (budget.costUsd !== null && moneyLeft(budget.costUsd, spent.costUsd) === 0) ||
    (budget.deadlineAt !== null && at >= budget.deadlineAt);
  return over || requests === 1 ? 'one' : 'many';
}
