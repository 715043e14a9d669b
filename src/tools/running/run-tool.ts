import {
  type CallName,
  failedOutcome,
  keptResultId,
  nothingSpent,
  type Spent,
  spentTogether,
  type ToolOutcome,
  type ToolOutput,
} from '../../../machines/index.ts';
import { within } from '../../host/deadline.ts';
import type { EffectContext } from '../../host/driver.ts';
import { eventLoop } from '../../host/event-loop.ts';
import type { KeptResults } from '../../observe/calls/kept-results.ts';
import type { Conversation } from '../../observe/conversation.ts';
import { ownCopy } from '../../platform/own-copy.ts';
import { isRecord } from '../../platform/plain-json.ts';
import { oneAtATime } from '../../platform/promises.ts';
import { headOf } from '../../platform/text.ts';
import { placeIn } from '../../shared/queues.ts';
import type { Slots } from '../../shared/slots.ts';
import { estimateOutputTokens } from '../../vocabulary/tokens.ts';
import { ToolError } from '../../vocabulary/tool-error.ts';
import type { Catalog } from '../catalog.ts';
import type { CatalogTool, ToolRun } from '../catalog-tool.ts';
import { type ClientToolOptions, handOut } from '../client-tool.ts';
import type { Questions } from '../questions.ts';
import {
  capOutput,
  isBudgetSpent,
  type Rendered,
  type ResultLimits,
  renderError,
  renderValue,
  unreadIn,
} from '../result.ts';
import { interruptedText, reconciled } from './reconcile.ts';

/** A session's lease in its journal. */
export type Lease = {
  /** True while this process's last renewal of the lease is valid, and once all has ended. */
  readonly isHeld: boolean;
  /** Renews a lease that may have run out. If another process has the session, everything is aborted. Never rejects. */
  renew(): Promise<void>;
  /** Resolves when all that was noted is durable. */
  write(): Promise<void>;
};

export type ToolEffectOptions = ClientToolOptions & {
  catalog: Catalog;
  sessionId: string;
  context: () => unknown;
  timeoutMs: number;
  /** The most ms of a call whose server reports progress. */
  maxToolMs: number;
  slots: Slots;
  /** The session's lease, which this process may have lost (D-3); null if no other process could have the session. */
  lease: Lease | null;
  /** Receives the original error of a tool (C-3). */
  onError: (name: string, callId: string, error: unknown) => void;
  /** The folds: the conversation so far, and the results that the model has read in part. */
  conversation: Pick<Conversation, 'messages' | 'inputOf'>;
  keptResults: Pick<KeptResults, 'page' | 'historyPage'>;
  /** The questions of calls to the user. */
  questions: Questions;
  /** The tasks of calls that another process sent. */
  tasks: { takeTask(callId: string): string | null };
};

/**
 * Runs the tool effect: invokes one tool once and returns one outcome (C-1, C-3). A tool that ignores its timeout or
 * an abort is cut off and answered; its late result is counted and dropped.
 */
export async function runTool(options: ToolEffectOptions, call: CallName, effect: EffectContext): Promise<ToolOutcome> {
  const { key, signal } = effect;
  const { catalog, slots, lease, clock, conversation, keptResults } = options;
  const { callId, name } = call;
  const tool = catalog.get(name);
  if (tool?.isClientSide) return handOut(options, call, effect);
  const timeoutMs = tool?.timeoutMs === undefined ? options.timeoutMs : tool.timeoutMs;
  // A tool that limits itself uses no slot: the tools that it runs use their own.
  const release = await slotsFor(tool, timeoutMs === null ? null : slots, signal);
  const limits: ResultLimits = {
    ...options,
    keptId: options.isReadable ? keptResultId(call) : null,
  };
  let spent = nothingSpent;
  let startedAt = clock.now();
  let progressedAt: number | null = null;
  let askedAt: number | null = null;
  const inTurn = oneAtATime();
  // A server that reports progress is not hung.
  const moreMs = () => {
    // Nor is one whose user is asked: its time is looked at again.
    if (askedAt !== null) return timeoutMs ?? 0;
    if (tool?.server === undefined || timeoutMs === null || progressedAt === null) return 0;
    const until = Math.min(progressedAt + timeoutMs, startedAt + options.maxToolMs);
    progressedAt = null;
    return until - clock.now();
  };
  const run = (ownSignal: AbortSignal): ToolRun => ({
    callId,
    signal: ownSignal,
    idempotencyKey: `${options.sessionId}/${key}`,
    messages: () => ownCopy(conversation.messages),
    context: options.context(),
    now: () => clock.now(),
    resultPage: (id, page) => keptResults.page(id, page),
    historyPage: (page) => keptResults.historyPage(page),
    progress: (said, resultBytes = limits.resultBytes) => {
      if (ownSignal.aborted) return;
      progressedAt = clock.now();
      const { output } = capOutput(said, { ...limits, resultBytes, keptId: null });
      options.sight({ type: 'tool.progressed', callId, name, output });
    },
    takeTask: () => options.tasks.takeTask(callId),
    follow: async (taskId) => {
      options.sight({ type: 'tool.followed', callId, name, taskId });
      await lease?.write();
    },
    noteFailed: (error) => options.onError(name, callId, error),
    noteCached: (ageMs) => options.sight({ type: 'tool.cached', callId, name, ageMs }),
    noteAlive: () => {
      progressedAt = clock.now();
    },
    ask: (question) =>
      inTurn(async () => {
        askedAt = clock.now();
        // Whoever hears of the question may answer at once.
        const replied = options.questions.ask(callId, clock, options.clientToolTimeoutMs, ownSignal);
        options.sight({ type: 'tool.asked', callId, name, ...question });
        const reply = await replied;
        options.sight({ type: 'tool.replied', callId, name, accepted: !reply.isError && isRecord(reply.output) });
        progressedAt = clock.now();
        // A person's time is not the tool's.
        startedAt += progressedAt - askedAt;
        askedAt = null;
        return reply;
      }),
    account: (more) => {
      spent = spentTogether(spent, more);
    },
  });
  try {
    if (tool === undefined) throw new ToolError(`${name} is no longer available.`);
    const checked = await catalog.checkedInput(tool, callId, () => conversation.inputOf(call.index), signal);
    if (!checked.valid) {
      return outcome(renderError(new Error(checked.reasons), limits), checked.slug ?? 'invalid_tool_input', spent);
    }
    const asksFirst = effect.isAgain && tool.reconcile !== undefined;
    let hasRun = false;
    const ending = await within(
      { clock, timeoutMs, signal, moreMs },
      (own) => {
        const invoke = () => {
          hasRun = true;
          return invoked(tool, checked.value, run(own), limits, lease);
        };
        return asksFirst ? again(tool, checked.value, run(own), limits, invoke) : invoke();
      },
      {
        value: () => options.sight({ type: 'effect.late', key: `tool call ${callId}` }),
        error: (error) => options.onError(name, callId, error),
      },
    );
    if (ending.kind !== 'done' && asksFirst && !hasRun) {
      const why = `reconcile() did not answer within ${timeoutMs} ms.`;
      return failedOutcome('interrupted', `${interruptedText} ${why}`, spent);
    }
    if (ending.kind !== 'done')
      return failedOutcome('tool_timeout', `${name} did not finish within ${timeoutMs} ms and was cut off.`, spent);
    if ('unknown' in ending.value)
      return failedOutcome('interrupted', `${interruptedText} ${ending.value.unknown}`, spent);
    return outcome(ending.value, ending.value.result.success ? null : 'tool_exec_failed', spent);
  } catch (error) {
    options.onError(name, callId, error);
    const slug = isBudgetSpent(error) ? 'budget_exhausted' : 'tool_exec_failed';
    return outcome(renderError(error, limits), slug, spent);
  } finally {
    release();
  }
}

/** Waits for a place in the tool's queue, and then for a slot of the session. Returns what frees both. */
async function slotsFor(tool: CatalogTool | undefined, slots: Slots | null, signal: AbortSignal): Promise<() => void> {
  const leave = tool?.queue === undefined ? () => undefined : await placeIn(tool.queue, signal);
  try {
    const release = await slots?.takeSlot(signal);
    return () => {
      release?.();
      leave();
    };
  } catch (error) {
    leave();
    throw error;
  }
}

/** A call that ran when its process died: its tool is asked what became of it before it is invoked again (D-7). */
async function again(
  tool: CatalogTool,
  input: unknown,
  run: ToolRun,
  limits: ResultLimits,
  invoke: () => Promise<Rendered>,
): Promise<Rendered | { unknown: string }> {
  const found = await reconciled(tool, input, run);
  if ('unknown' in found) return { unknown: headOf(found.unknown, mostReasonBytes) };
  if (!('done' in found)) return invoke();
  const value = isStreamed(found.done) ? await lastOf(found.done, run, limits) : found.done;
  return renderedBy(tool, value, input, run, limits);
}

/** The most bytes of the reason for an unknown outcome. */
const mostReasonBytes = 1_024;

/** Returns a tool's value as a result: for an async iterable, the last value; the others are preliminary. */
async function invoked(
  tool: CatalogTool,
  input: unknown,
  run: ToolRun,
  limits: ResultLimits,
  lease: Lease | null,
): Promise<Rendered> {
  if (tool.announce !== undefined) {
    await owned(lease, run.signal);
    await tool.announce(input, run);
  }
  // Tools that begin in one step wait here together, and one of them may stop the process for long.
  if (lease?.isHeld === false) await owned(lease, run.signal);
  // Such a tool may also have aborted the session (D-2).
  run.signal.throwIfAborted();
  const made = async () => {
    const returned = await tool.execute(input, run);
    return isStreamed(returned) ? await lastOf(returned, run, limits) : returned;
  };
  const value =
    tool.cache === undefined
      ? await made()
      : await tool.cache.value({ ...run, input, hit: run.noteCached, told: run.noteFailed }, made);
  return renderedBy(tool, value, input, run, limits);
}

/** A stream is iterable, but its parts are not preliminary values. */
function isStreamed(value: unknown): value is AsyncIterable<unknown> {
  return unreadIn(value) === null && isAsyncIterable(value);
}

function renderedBy(
  tool: CatalogTool,
  value: unknown,
  input: unknown,
  run: ToolRun,
  limits: ResultLimits,
): Rendered | Promise<Rendered> {
  if (tool.toModelOutput === undefined) return renderValue(value, limits);
  // The tool's own `toModelOutput` reads an unread body.
  const unread = unreadIn(value);
  const { result, ...rest } = renderValue(unread === null ? value : `[${unread}]`, { ...limits, keptId: null });
  if (!result.success) return { result, ...rest };
  return tool.toModelOutput(value, input, run.callId).then((output) => ({ result, ...capOutput(output, limits) }));
}

/** Resolves when the session is this process's. Rejects with the reason of the abort if it is not (D-3). */
async function owned(lease: Lease | null, signal: AbortSignal): Promise<void> {
  while (lease?.isHeld === false && !signal.aborted) await lease.renew();
  signal.throwIfAborted();
}

/** A preliminary value is for people: one with a structure keeps it, as the last value does. */
function asShown({ result: { success, value }, output }: Rendered): ToolOutput {
  return success && value !== null && typeof value !== 'string' ? { type: 'json', value } : output;
}

/** Returns the last value. Yields to the timers regularly, so that an iterable that never waits still times out. */
async function lastOf(values: AsyncIterable<unknown>, run: ToolRun, limits: ResultLimits): Promise<unknown> {
  let last: unknown;
  for await (const value of values) {
    last = value;
    // Preliminary values are shown but not stored.
    run.progress(asShown(renderValue(value, { ...limits, keptId: null })));
    if (eventLoop.isDue) await eventLoop.turn();
    if (run.signal.aborted) break;
  }
  return last;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

function outcome(rendered: Rendered, slug: ToolOutcome['slug'], spent: Spent): ToolOutcome {
  return { slug, ...rendered, tokens: estimateOutputTokens(rendered.output), spent };
}
