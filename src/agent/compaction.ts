import type { ProviderV4 } from '@ai-sdk/provider';
import { z } from 'zod';
import type { Message } from '../../machines/index.ts';
import { check } from '../input/check.ts';
import { unexpected } from '../input/errors.ts';
import { aFunction, count } from '../input/shapes.ts';
import {
  type ModelEntry,
  type ModelReference,
  modelIn,
  Target,
  type TargetTraits,
  targetName,
} from '../model/targets.ts';
import type { Limits } from '../vocabulary/limits.ts';

/** What a function that compacts a conversation receives: a copy of the messages that its text takes the place of. */
export type CompactInput<Context = unknown> = {
  messages: readonly Message[];
  /** What the session was given as its `context`. */
  context: Context;
  /** Aborts when the session is aborted, and after `limits.prepareTimeoutMs`. */
  signal: AbortSignal;
};

/** Returns the text that takes the messages' place. It runs again if the process dies meanwhile. */
export type CompactBy<Context = unknown> = {
  call(input: CompactInput<Context>): string | Promise<string>;
}['call'];

/** How a long conversation is compacted before a turn (T-9). */
export type CompactOptions<Context = unknown> = {
  /**
   * The share of the context window's room that the next request must fill, from 0.1 to 0.9; default: 0.75. Without a
   * known window only `session.compact()` compacts.
   */
  at?: number;
  /** How many of the last turns stay as they are; default: 3. */
  keep?: number;
  /**
   * `summary`: a request asks a model, and takes the place of one of the turn's attempts (B-2). `drop`: the messages are
   * left out. Or a function of them. Default: `summary`.
   */
  by?: 'summary' | 'drop' | CompactBy<Context>;
  /**
   * The model that is asked for a summary, or `{ model, contextWindow }`; its window defaults to `limits.contextWindow`.
   * Default: the model of the turn.
   */
  model?: ModelReference | ModelEntry;
};

/** The compaction of an agent. `target` is null where the turn's is asked. */
export type Compaction = Required<Omit<CompactOptions, 'model'>> & { target: Target | null };

const shareError = { error: 'a number from 0.1 to 0.9' };
const bys = 'summary, drop or a function';
const compactSchema = z.strictObject(
  {
    at: z.number(shareError).min(0.1, shareError).max(0.9, shareError).default(0.75),
    keep: count.default(3),
    by: z.union([z.enum(['summary', 'drop']), aFunction], { error: bys }).default('summary'),
    model: z.custom<ModelReference | ModelEntry>().optional(),
  } satisfies Record<keyof CompactOptions, z.ZodType>,
  { error: 'an object' },
);

/**
 * Returns the compaction that a definition asks for; null for none. `traitsOf` checks its model. Throws `invalid_agent`, or
 * as `traitsOf` does.
 */
export function compactionOf(
  definition: { compact?: CompactOptions | undefined; providers?: Record<string, ProviderV4> | undefined } | undefined,
  traitsOf: (model: ModelReference | ModelEntry, field: string) => Partial<TargetTraits>,
): Compaction | null {
  const { compact, providers = {} } = definition ?? {};
  if (compact === undefined) return null;
  const { model, by, ...rest } = check(compactSchema, compact, 'compact', 'invalid_agent');
  const compaction = { ...rest, by: by as Compaction['by'], target: null };
  if (model === undefined) return compaction;
  const traits = traitsOf(model, 'compact.model');
  const reference = modelIn(model);
  return { ...compaction, target: new Target(targetName(reference), reference, providers, traits) };
}

/** Throws unless a summary leaves its turn an attempt (B-2). */
export function checkSummaries(compaction: Compaction | null, { maxRetries }: Pick<Limits, 'maxRetries'>): void {
  if (compaction?.by !== 'summary' || maxRetries > 1) return;
  const what = 'at least 2, since the summary of `compact` is one of the requests of a turn';
  throw unexpected('invalid_limit', 'limits.maxRetries', maxRetries, what);
}
