import type { Agent } from '../agent/definition.ts';
import { checkPriced } from '../agent/unpriced.ts';
import { PawlError } from '../input/errors.ts';
import type { Journal, SessionHead } from '../journal/journal.ts';
import { accountIn, accountOf, type SharedBudget, storeOf } from '../journal/shared-budget.ts';
import type { BudgetAccount } from '../shared/budget.ts';

/** Returns the account that a new session draws on (B-8). Throws `invalid_budget` for one that it cannot share. */
export function joinedBudget(agent: Agent, budget: SharedBudget, journal: Journal | undefined): BudgetAccount {
  const account = accountOf(budget);
  checkPriced(agent, 'sharedBudget', budget.limits.costUsd);
  // What a resumed session had spent would be unknown to a budget elsewhere.
  if (journal !== undefined && journal.budgets !== account.store)
    throw new PawlError('invalid_budget', '`sharedBudget` must be kept in the `journal` of the session.');
  return account;
}

/** Returns the account that a recorded session draws on: that which is given, or the one of its name, as it was. */
export function recordedBudget(
  agent: Agent,
  { sharedBudget: recorded }: Pick<SessionHead, 'sharedBudget'>,
  { sharedBudget: given, journal }: { sharedBudget?: SharedBudget; journal: Journal },
): BudgetAccount | null {
  if (given !== undefined && given.name === recorded?.name) return joinedBudget(agent, given, journal);
  return recorded === undefined ? null : accountIn(storeOf(journal), recorded.name, recorded.limits);
}
