import { type Allowance, nothingSpent, type Spent, spentTogether } from '../../machines/index.ts';

/** What one session has spent of a shared budget, what its requests in flight may cost, and what is kept for its report. */
export type BudgetShare = { spent: Spent; inFlight: Spent; kept: Spent };

/** Where a shared budget is kept: a share for each session that draws on it. */
export type BudgetStore = {
  /**
   * Sets a session's share, if all shares together stay within `most`; null sets it in any case. Returns whether it did.
   * Atomic, over all processes that use the store.
   */
  put(budget: string, sessionId: string, share: BudgetShare, most: Allowance | null): Promise<boolean>;
  /** Returns a session's share; null if it has drawn nothing. */
  share(budget: string, sessionId: string): Promise<BudgetShare | null>;
  /** Returns all shares together. */
  total(budget: string): Promise<BudgetShare>;
};

export const emptyShare: BudgetShare = { spent: nothingSpent, inFlight: nothingSpent, kept: nothingSpent };

/** What counts against the budget of a share: what is spent, and what is set aside. */
export function drawnBy({ spent, inFlight, kept }: BudgetShare): Spent {
  return spentTogether(spentTogether(spent, inFlight), kept);
}

export function sharesTogether(shares: Iterable<BudgetShare>): BudgetShare {
  let all = emptyShare;
  for (const { spent, inFlight, kept } of shares)
    all = {
      spent: spentTogether(all.spent, spent),
      inFlight: spentTogether(all.inFlight, inFlight),
      kept: spentTogether(all.kept, kept),
    };
  return all;
}

/** Whether a sum stays within a budget. Sums of fractions are inexact, so a billionth of an amount of money is nothing. */
export function fitsBudget(drawn: Spent, { requests, tokens, costUsd }: Allowance): boolean {
  return (
    (requests === null || drawn.requests <= requests) &&
    (tokens === null || drawn.tokens <= tokens) &&
    (costUsd === null || drawn.costUsd <= costUsd * (1 + 1e-9))
  );
}

/** Keeps shared budgets in memory. */
export function memoryBudgets(): BudgetStore {
  const budgets = new Map<string, Map<string, BudgetShare>>();
  const sharesOf = (budget: string) => {
    const shares = budgets.get(budget) ?? new Map<string, BudgetShare>();
    budgets.set(budget, shares);
    return shares;
  };
  return {
    async put(budget, sessionId, share, most) {
      const shares = sharesOf(budget);
      if (most !== null) {
        const others = [...shares].flatMap(([id, other]) => (id === sessionId ? [] : [other]));
        if (!fitsBudget(drawnBy(sharesTogether([...others, share])), most)) return false;
      }
      shares.set(sessionId, share);
      return true;
    },
    share: async (budget, sessionId) => sharesOf(budget).get(sessionId) ?? null,
    total: async (budget) => sharesTogether(sharesOf(budget).values()),
  };
}
