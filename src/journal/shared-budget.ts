import { z } from 'zod';
import type { Allowance, Spent } from '../../machines/index.ts';
import { check } from '../input/check.ts';
import { PawlError } from '../input/errors.ts';
import { count, nonBlank } from '../input/shapes.ts';
import { randomId } from '../platform/random-id.ts';
import { BudgetAccount } from '../shared/budget.ts';
import { type BudgetStore, memoryBudgets } from '../shared/budget-store.ts';
import { aJournal } from './given.ts';
import type { Journal } from './journal.ts';

export type SharedBudgetOptions = {
  /** LLM requests of all its sessions; default: no limit. */
  requests?: number;
  /** Input and output tokens together; default: no limit. */
  tokens?: number;
  /** US dollars; needs a price for every model of the sessions; default: no limit. */
  costUsd?: number;
  /**
   * Where it is kept, so that it holds across processes and after a crash; needs a `name`. Sessions that are journaled need
   * a budget in their own journal. Default: in the memory of this process.
   */
  journal?: Journal;
  /** What it is called in its journal: the same name is the same budget. */
  name?: string;
};

/** A budget that sessions share (B-8). */
export type SharedBudget = {
  readonly name: string;
  /** Null for no limit. */
  readonly limits: Readonly<Allowance>;
  /** What its sessions have spent so far, without what runs now. Rejects if its journal does not answer. */
  spent(): Promise<Spent>;
};

const positive = z.number({ error: 'a number above 0' }).positive({ error: 'a number above 0' });

/** The limits of a budget, each optional. */
export const budgetShape = { requests: count.optional(), tokens: positive.optional(), costUsd: positive.optional() };

const optionsSchema = z.strictObject({
  ...budgetShape,
  journal: aJournal.optional(),
  name: nonBlank.optional(),
} satisfies Record<keyof SharedBudgetOptions, z.ZodType>);

const accounts = new WeakMap<BudgetStore, Map<string, BudgetAccount>>();

/**
 * Makes a budget that any sessions share: the whole is not overspent by more than one request for each session that runs
 * (B-8). When it is spent, a session that has begun sends one more request, for its report; one that has not fails with
 * `budget_exhausted` and has sent nothing. Throws `invalid_options`.
 */
export function sharedBudget(options: SharedBudgetOptions): SharedBudget {
  const {
    requests = null,
    tokens = null,
    costUsd = null,
    journal,
    name,
  } = check(optionsSchema, options, 'options', 'invalid_options');
  if (requests === null && tokens === null && costUsd === null)
    throw new PawlError('invalid_options', 'A shared budget needs at least one of `requests`, `tokens` and `costUsd`.');
  if (journal !== undefined && name === undefined)
    throw new PawlError(
      'invalid_options',
      'A shared budget with a `journal` needs a `name`, by which it is found again.',
    );
  const store = journal === undefined ? memoryBudgets() : storeOf(journal);
  return new KeptBudget(accountIn(store, name ?? randomId(), { requests, tokens, costUsd }));
}

class KeptBudget implements SharedBudget {
  readonly account: BudgetAccount;

  constructor(account: BudgetAccount) {
    this.account = account;
  }

  get name(): string {
    return this.account.name;
  }

  get limits(): Readonly<Allowance> {
    return this.account.limits;
  }

  async spent(): Promise<Spent> {
    return (await this.account.store.total(this.name)).spent;
  }
}

export function isSharedBudget(value: unknown): value is SharedBudget {
  return value instanceof KeptBudget;
}

export const aSharedBudget = z.custom<SharedBudget>(isSharedBudget, { error: 'a budget made by sharedBudget' });

/** Returns the account of a budget that `sharedBudget` made. */
export function accountOf(budget: SharedBudget): BudgetAccount {
  if (budget instanceof KeptBudget) return budget.account;
  throw new PawlError('invalid_options', '`sharedBudget` must be a budget made by sharedBudget.');
}

/** Returns the account of a name in a store: one for all its sessions of this process. The latest limits hold. */
export function accountIn(store: BudgetStore, name: string, limits: Allowance): BudgetAccount {
  const known = accounts.get(store) ?? new Map<string, BudgetAccount>();
  accounts.set(store, known);
  const account = known.get(name) ?? new BudgetAccount(name, limits, store);
  known.set(name, account);
  account.limits = limits;
  return account;
}

/** Returns where a journal keeps shared budgets. Throws `invalid_options` for one that keeps none. */
export function storeOf(journal: Journal): BudgetStore {
  if (journal.budgets !== undefined) return journal.budgets;
  throw new PawlError('invalid_options', '`journal` keeps no shared budgets: it has no `budgets`.');
}
