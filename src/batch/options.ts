import { z } from 'zod';
import type { Spent } from '../../machines/index.ts';
import { aFunction, count, nonBlank } from '../input/shapes.ts';
import { aJournal } from '../journal/given.ts';
import type { Journal } from '../journal/journal.ts';
import { budgetShape, type SharedBudget, type SharedBudgetOptions } from '../journal/shared-budget.ts';
import { commonOptions } from '../session/common-options.ts';
import type { SessionOptions } from '../session/options.ts';
import type { SessionResult } from '../session/session.ts';

/** One input of a batch: a prompt, or the options of its session. `id` finds it again; default: its place, from 1. */
export type BatchInput<Context = unknown> =
  | string
  | (Pick<SessionOptions<Context>, 'prompt' | 'messages' | 'metadata' | 'context'> & { id?: string });

/** What became of one input. */
export type BatchItem<Report = unknown> = {
  id: string;
  /** The place of the input, from 0. */
  index: number;
  /**
   * That of its session. `suspended`: the batch was stopped, or the journal failed. `unstarted`: the budget was spent, or the
   * batch was stopped, before it had sent anything. `refused`: its session could not be started or resumed.
   */
  status: 'succeeded' | 'failed' | 'aborted' | 'suspended' | 'unstarted' | 'refused';
  /** Null for an input without a session. */
  result: SessionResult<Report> | null;
  /** Why it was refused; null if it was not. */
  error: unknown;
};

export type BatchOptions<Report = unknown, Context = unknown> = {
  /** Sessions that run at once; default: 4. */
  concurrency?: number;
  /** What all sessions of the batch may spend together (B-8); default: no limit. */
  budget?: SharedBudget | Pick<SharedBudgetOptions, 'requests' | 'tokens' | 'costUsd'>;
  /**
   * Where the sessions are written down. A second run returns the results of sessions that
   * have ended, resumes those that have not, and starts the rest. Needs a `name`. Default: nowhere.
   */
  journal?: Journal;
  /** What the batch is called in its journal. Its sessions are called `name/id`. */
  name?: string;
  /** Options of every session. */
  session?: Omit<
    SessionOptions<Context>,
    'prompt' | 'messages' | 'sessionId' | 'journal' | 'sharedBudget' | 'signal' | 'onDelivery'
  >;
  /** Called with each input as its session ends. The batch waits for its promise, and ends if it throws. */
  onItem?: (item: BatchItem<Report>) => unknown;
  /** Stops the batch: nothing more begins; what runs is suspended, or without a journal aborted. */
  signal?: AbortSignal;
  /** A bar on a terminal; default: on stderr, if that is a terminal. False for none. */
  progress?: boolean | NodeJS.WriteStream;
};

/** What a batch came to. */
export type BatchSummary = {
  total: number;
  succeeded: number;
  /** The inputs that did not succeed and have ended, with the reasons. */
  failures: { id: string; status: 'failed' | 'aborted' | 'refused'; slugs: string[]; detail: string | null }[];
  /** The ids of the inputs that another run of the batch takes up. */
  left: string[];
  /** What its sessions have spent, those of earlier runs included. `costUsd` is null if one has no price. */
  spent: Omit<Spent, 'costUsd'> & { costUsd: number | null };
  /** Of this run, in ms. */
  durationMs: number;
};

const inputSchema = z.union(
  [
    nonBlank,
    z.strictObject({
      id: nonBlank.optional(),
      prompt: z.unknown().optional(),
      messages: z.unknown().optional(),
      metadata: z.unknown().optional(),
      context: z.unknown().optional(),
    }),
  ],
  { error: 'a prompt, or an object with `prompt` or `messages`' },
);
export const inputsSchema = z.array(inputSchema, { error: 'an array of inputs' });

const aBudget = 'a budget made by sharedBudget, or { requests, tokens, costUsd }';

export const batchLimits = z.strictObject(budgetShape);

export const batchSchema = z.strictObject({
  concurrency: count.default(4),
  // Either a budget that `sharedBudget` made, or its limits.
  budget: z.custom((value) => typeof value === 'object' && value !== null, { error: aBudget }).optional(),
  journal: aJournal.optional(),
  name: nonBlank.optional(),
  session: z.record(z.string(), z.unknown(), { error: 'an object of session options' }).optional(),
  onItem: aFunction.optional(),
  signal: commonOptions.signal,
  progress: z
    .union([z.boolean(), z.custom<NodeJS.WriteStream>((value) => typeof Object(value).write === 'function')], {
      error: 'true, false or a stream',
    })
    .optional(),
} satisfies Record<keyof BatchOptions, z.ZodType>);
