import type { Agent } from '../agent/definition.ts';
import { requireAgent } from '../agent/definition.ts';
import { sleep, systemClock } from '../host/clock.ts';
import { check } from '../input/check.ts';
import { messageOf, PawlError } from '../input/errors.ts';
import type { Journal } from '../journal/journal.ts';
import { deleteSession } from '../journal/sessions.ts';
import { accountOf, isSharedBudget, type SharedBudget, sharedBudget } from '../journal/shared-budget.ts';
import { checkedOptions } from '../session/input.ts';
import { joinedBudget } from '../session/joined-budget.ts';
import type { SessionOptions, WithContext } from '../session/options.ts';
import { resumeSession } from '../session/recovery/resume-session.ts';
import type { Session, SessionResult } from '../session/session.ts';
import { startSession } from '../session/start-session.ts';
import { fitsBudget } from '../shared/budget-store.ts';
import {
  type BatchInput,
  type BatchItem,
  type BatchOptions,
  type BatchSummary,
  batchLimits,
  batchSchema,
  inputsSchema,
} from './options.ts';
import { ProgressBar } from './progress.ts';

/**
 * Runs a session of the agent for each input, a few at a time. Resolves when all have ended, or the batch was stopped.
 * Failures are told apart, and stop nothing. Throws `invalid_options` before anything runs, or what `onItem` throws.
 */
export async function runBatch<Report, Context>(
  agent: Agent<Report, Context>,
  inputs: readonly BatchInput<Context>[],
  options: BatchOptions<Report, Context> & (unknown extends Context ? unknown : { session: WithContext<Context> }),
): Promise<BatchSummary> {
  requireAgent(agent);
  check(inputsSchema, inputs, 'inputs', 'invalid_options');
  check<unknown>(batchSchema, options, 'options', 'invalid_options');
  const batch = new Batch<Report>(agent as Agent<Report>, inputs.map(entryOf), options as BatchOptions<Report>);
  return batch.run();
}

type Entry = { id: string; index: number; options: Partial<SessionOptions> };

/** What becomes of an input whose session another run holds; it comes last (B-8e). */
const held = Symbol('held');
/** A session that another run began and deleted, since the budget was spent before its first request. */
const gone = Symbol('gone');

function entryOf<Context>(input: BatchInput<Context>, index: number): Entry {
  if (typeof input === 'string') return { id: String(index + 1), index, options: { prompt: input } };
  const { id = String(index + 1), ...options } = input;
  return { id, index, options: options as Partial<SessionOptions> };
}

class Batch<Report> {
  private readonly agent: Agent<Report>;
  private readonly entries: readonly Entry[];
  private readonly options: BatchOptions<Report>;
  private readonly budget: SharedBudget | null;
  private readonly bar: ProgressBar;
  private readonly running = new Set<Session<Report>>();
  private readonly failures: BatchSummary['failures'] = [];
  private readonly left: string[] = [];
  private readonly spent = { requests: 0, tokens: 0, costUsd: 0 as number | null };
  private readonly began = performance.now();
  private succeeded = 0;
  private next = 0;
  /** The inputs whose sessions other runs hold. */
  private readonly heldEntries: Entry[] = [];
  /** The sessions that the journal had before. */
  private known: ReadonlySet<string> = new Set();
  /** Why nothing more begins; null while something does. */
  private stopped: { error: unknown } | 'signal' | null = null;

  constructor(agent: Agent<Report>, entries: readonly Entry[], options: BatchOptions<Report>) {
    const { journal, name, budget, progress } = options;
    if (journal !== undefined && name === undefined)
      throw new PawlError('invalid_options', 'A batch with a `journal` needs a `name`, by which it is found again.');
    const ids = new Set<string>();
    for (const { id } of entries) {
      if (ids.has(id)) throw new PawlError('invalid_options', `\`inputs\` has two inputs with the id "${id}".`);
      ids.add(id);
    }
    this.agent = agent;
    this.entries = entries;
    this.options = options;
    this.budget = budgetOf(budget, journal, name);
    // Options that no session could start with are refused before any starts.
    checkedOptions(agent, { prompt: 'the first', ...options.session });
    if (this.budget !== null) joinedBudget(agent as Agent, this.budget, journal);
    this.bar = new ProgressBar(progress);
  }

  async run(): Promise<BatchSummary> {
    const { concurrency = 4, journal, name, signal } = this.options;
    if (journal !== undefined)
      this.known = new Set((await journal.list({ idPrefix: `${name}/` })).map(({ sessionId }) => sessionId));
    const stop = () => this.stop('signal');
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    this.show();
    try {
      await Promise.all(Array.from({ length: Math.min(concurrency, this.entries.length) }, () => this.work()));
    } finally {
      signal?.removeEventListener('abort', stop);
      this.bar.end();
    }
    if (this.stopped !== null && this.stopped !== 'signal') throw this.stopped.error;
    const durationMs = Math.round(performance.now() - this.began);
    const { succeeded, failures, left, spent, entries } = this;
    return { total: entries.length, succeeded, failures, left, spent, durationMs };
  }

  /** Takes one input after another, and waits for those that other runs hold once no other is left. */
  private async work(): Promise<void> {
    for (let next = this.take(); next !== null; next = this.take()) {
      const item = await this.itemOf(next.entry, next.waits);
      if (item === held) {
        this.heldEntries.push(next.entry);
        continue;
      }
      this.count(item);
      this.show();
      try {
        await this.options.onItem?.(item);
      } catch (error) {
        this.stop({ error });
      }
    }
  }

  private take(): { entry: Entry; waits: boolean } | null {
    const entry = this.entries[this.next];
    this.next += 1;
    if (entry !== undefined) return { entry, waits: false };
    const last = this.heldEntries.shift();
    return last === undefined ? null : { entry: last, waits: true };
  }

  private async itemOf({ id, index, options }: Entry, waits: boolean): Promise<BatchItem<Report> | typeof held> {
    const without = { id, index, result: null, error: null };
    try {
      const session = await this.sessionOf(id, options, waits);
      if (session === held) return held;
      if (session === null) return { ...without, status: 'unstarted' };
      this.running.add(session);
      if (this.stopped !== null) this.end(session);
      this.show();
      const result = await session.result;
      this.running.delete(session);
      // Another run began it at the same moment.
      if (result.slugs[0] === 'journal_failed' && hasSentNothing(result) && (await this.isRecorded(result.sessionId)))
        return held;
      if (!isUnstarted(result)) return { ...without, status: result.status, result };
      // Another run, with a larger budget, begins it again.
      const { journal } = this.options;
      if (journal !== undefined) await deleteSession(journal, result.sessionId);
      return { ...without, status: 'unstarted' };
    } catch (error) {
      return { ...without, status: 'refused', error };
    }
  }

  /** Starts a session or resumes it; null if the batch starts nothing more. */
  private async sessionOf(
    id: string,
    own: Partial<SessionOptions>,
    waits: boolean,
  ): Promise<Session<Report> | typeof held | null> {
    const { journal, name, session: shared = {} } = this.options;
    if (this.stopped !== null) return null;
    const sessionId = name === undefined ? undefined : `${name}/${id}`;
    const budget = this.budget === null ? {} : { sharedBudget: this.budget };
    if (journal !== undefined && sessionId !== undefined && (await this.isRecorded(sessionId))) {
      const { context, logger, onEvent, telemetry, inspect, clock, random, priority } = { ...shared, ...own };
      const given = { context, logger, onEvent, telemetry, inspect, clock, random, priority };
      const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const resumed = await this.resumed(
        () => resumeSession(this.agent, { ...asked, ...budget, journal, sessionId } as never),
        journal,
        waits,
      );
      if (resumed !== gone) return resumed;
    }
    if (await this.isSpent()) return null;
    const metadata = { ...shared.metadata, ...own.metadata };
    return startSession(this.agent, {
      ...{ ...shared, ...own, metadata },
      ...budget,
      ...(journal !== undefined && { journal }),
      ...(sessionId !== undefined && { sessionId }),
    } as never);
  }

  /** A run that began meanwhile may have started it. */
  private async isRecorded(sessionId: string): Promise<boolean> {
    if (this.known.has(sessionId)) return true;
    const rows = await this.options.journal?.list({ sessionId });
    return rows !== undefined && rows.length > 0;
  }

  /** Who holds a session may work on it, or have died, and then its lease runs out. */
  private async resumed(
    resume: () => Promise<Session<Report>>,
    { leaseMs }: Journal,
    waits: boolean,
  ): Promise<Session<Report> | typeof held | typeof gone | null> {
    for (;;) {
      try {
        return await resume();
      } catch (error) {
        if (!(error instanceof PawlError)) throw error;
        if (error.code === 'session_unknown') return gone;
        if (error.code !== 'session_taken') throw error;
        if (!waits) return held;
        await sleep(systemClock, leaseMs / 4, this.options.signal).catch(() => {});
        if (this.stopped !== null) return null;
      }
    }
  }

  private async isSpent(): Promise<boolean> {
    if (this.budget === null) return false;
    const { store, name, limits } = accountOf(this.budget);
    const { spent } = await store.total(name);
    return !fitsBudget({ ...spent, requests: spent.requests + 1 }, below(limits));
  }

  private stop(why: { error: unknown } | 'signal'): void {
    this.stopped ??= why;
    for (const session of this.running) this.end(session);
  }

  private end(session: Session<Report>): void {
    if (this.options.journal === undefined) session.abort('the batch was stopped');
    else session.suspend().catch(() => session.abort('the batch was stopped'));
  }

  private count({ id, status, result, error }: BatchItem<Report>): void {
    if (result !== null) {
      const { requests, tokens, costUsd } = result.counters.tree;
      this.spent.requests += requests;
      this.spent.tokens += tokens.input + tokens.output;
      this.spent.costUsd = this.spent.costUsd === null || costUsd === null ? null : this.spent.costUsd + costUsd;
    }
    if (status === 'succeeded') this.succeeded += 1;
    else if (status === 'suspended' || status === 'unstarted') this.left.push(id);
    else if (result === null) this.failures.push({ id, status: 'refused', slugs: [], detail: messageOf(error) });
    else
      this.failures.push({
        id,
        status: status as 'failed',
        slugs: result.slugs,
        detail: result.failure?.detail ?? null,
      });
  }

  private show(): void {
    const { entries, succeeded, failures, running, spent, began } = this;
    this.bar.show({
      ...{ total: entries.length, succeeded, failed: failures.length, running: running.size },
      ...{ costUsd: spent.costUsd, elapsedMs: performance.now() - began },
    });
  }
}

/** Whether a session found the budget spent before its first request. */
function isUnstarted(result: SessionResult): boolean {
  return result.slugs[0] === 'budget_exhausted' && hasSentNothing(result);
}

function hasSentNothing({ counters }: SessionResult): boolean {
  return counters.requests === 0;
}

/** What must be left to begin: something of each. */
function below<Limits extends { tokens: number | null; costUsd: number | null }>(limits: Limits): Limits {
  const less = (limit: number | null) => (limit === null ? null : limit * (1 - 1e-9));
  return { ...limits, tokens: less(limits.tokens), costUsd: less(limits.costUsd) };
}

function budgetOf(
  given: BatchOptions['budget'],
  journal: Journal | undefined,
  name: string | undefined,
): SharedBudget | null {
  if (given === undefined) return null;
  if (isSharedBudget(given)) return given;
  check(batchLimits, given, 'options.budget', 'invalid_options');
  return sharedBudget({
    ...given,
    ...(journal !== undefined && name !== undefined && { journal, name: `batch ${name}` }),
  });
}
