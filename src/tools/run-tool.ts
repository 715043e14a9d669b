import { setImmediate } from 'node:timers/promises';
import {
  failure,
  type Message,
  nothingSpent,
  type Spent,
  spentTogether,
  type ToolOutcome,
  type ToolOutput,
  type ToolRequest,
} from '../../machines/index.ts';
import { estimateOutputTokens } from '../context/tokens.ts';
import type { Sighting } from '../observe/events.ts';
import type { Catalog, CatalogTool, ToolRun } from './catalog.ts';
import { cap, type Rendered, type ResultLimits, renderError, renderValue, ToolError } from './result.ts';

export type ToolEffectOptions = ResultLimits & {
  catalog: Catalog;
  timeoutMs: number;
  slots: Slots;
  sight: (sighting: Sighting) => void;
  /** Where the original error of a tool goes (C-3). */
  onError: (name: string, callId: string, error: unknown) => void;
  /** The conversation so far, for tools that want it. */
  messages: () => readonly Message[];
};

/**
 * The tool effect: invokes one tool, once, and turns whatever comes of it into one outcome (C-1, C-3). A tool that heeds
 * neither its timeout nor an abort is answered all the same; its late result is counted and dropped.
 */
export async function runTool(
  options: ToolEffectOptions,
  { callId, name }: ToolRequest,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const { catalog, slots } = options;
  const tool = catalog.get(name);
  const input = catalog.takeInput(callId);
  const timeoutMs = tool?.timeoutMs === undefined ? options.timeoutMs : tool.timeoutMs;
  // A tool that is bounded by itself takes no slot: what it runs takes slots of its own.
  const release = timeoutMs === null ? () => undefined : await slots.take(signal);
  const limit = new Limit(timeoutMs, signal);
  let spent = nothingSpent;
  const run: ToolRun = {
    callId,
    signal: limit.signal,
    messages: options.messages,
    progress: (output) => {
      if (!limit.signal.aborted) options.sight({ type: 'tool.progressed', callId, name, output });
    },
    account: (more) => {
      spent = spentTogether(spent, more);
    },
  };
  try {
    if (tool === undefined) throw new ToolError(`${name} is not available any more.`);
    const rendered = await limit.race(invoked(tool, input, run, options), {
      onValue: () => options.sight({ type: 'effect.late', key: `tool call ${callId}` }),
      onError: (error) => options.onError(name, callId, error),
    });
    if (rendered === expired) return outcome(timedOut(name, timeoutMs), 'tool_timeout', spent);
    return outcome(rendered, rendered.result.success ? null : 'tool_exec_failed', spent);
  } catch (error) {
    options.onError(name, callId, error);
    return outcome(renderError(error, options), 'tool_exec_failed', spent);
  } finally {
    limit.clear();
    release();
  }
}

/** What the tool returned, as a result; of an async iterable the last value, the others are preliminary. */
async function invoked(tool: CatalogTool, input: unknown, run: ToolRun, options: ToolEffectOptions): Promise<Rendered> {
  const returned = await tool.execute(input, run);
  const value = isAsyncIterable(returned) ? await lastOf(returned, run, options) : returned;
  const rendered = renderValue(value, tool.toModelOutput === null ? options : { ...options, keep: null });
  if (tool.toModelOutput === null || !rendered.result.success) return rendered;
  return { ...rendered, output: capOutput(await tool.toModelOutput(value, input, run.callId), options) };
}

/** Yields to the timers now and then, so that an iterable that never waits cannot keep its own timeout from coming. */
async function lastOf(values: AsyncIterable<unknown>, run: ToolRun, options: ToolEffectOptions): Promise<unknown> {
  let last: unknown;
  let rested = performance.now();
  for await (const value of values) {
    last = value;
    // What comes before the last is shown and not kept.
    run.progress(renderValue(value, { ...options, keep: null }).output);
    if (performance.now() - rested > 10) {
      await setImmediate();
      rested = performance.now();
    }
    if (run.signal.aborted) break;
  }
  return last;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

function capOutput(output: ToolOutput, limits: ResultLimits): ToolOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: cap(output.value, limits) || 'The tool returned an empty text.' };
    case 'json':
    case 'error-json': {
      const text = JSON.stringify(output.value);
      if (Buffer.byteLength(text) <= limits.resultBytes) return output;
      return { type: output.type === 'json' ? 'text' : 'error-text', value: cap(text, limits) };
    }
    case 'content': {
      const texts = output.value.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []));
      const files = output.value.filter((part) => part.type === 'file');
      const all = capOutput({ type: 'text', value: texts.join('\n') }, limits);
      // All the texts together keep to what one result may take.
      if (files.length === 0 || all.type !== 'text') return all;
      return {
        type: 'content',
        value: [...(texts.length === 0 ? [] : [{ type: 'text' as const, text: all.value }]), ...files],
      };
    }
    case 'execution-denied':
      return output;
    default:
      return output satisfies never;
  }
}

function outcome({ result, output }: Rendered, slug: ToolOutcome['slug'], spent: Spent): ToolOutcome {
  return { slug, result, output, tokens: estimateOutputTokens(output), spent };
}

function timedOut(name: string, timeoutMs: number | null): Rendered {
  const message = `${name} did not finish within ${timeoutMs} ms and was given up.`;
  return { result: failure(message), output: { type: 'error-text', value: message } };
}

const expired: unique symbol = Symbol('expired');

/** The time that a tool has, and a signal that aborts when it is over or the session is aborted. */
class Limit {
  private readonly controller = new AbortController();
  private readonly timeout: NodeJS.Timeout | undefined;
  private readonly outer: AbortSignal;
  private readonly abort = () => this.controller.abort(this.outer.reason);

  constructor(timeoutMs: number | null, outer: AbortSignal) {
    this.outer = outer;
    const expire = () => this.controller.abort(new Error(`not finished within ${timeoutMs} ms`));
    this.timeout = timeoutMs === null ? undefined : setTimeout(expire, timeoutMs);
    outer.addEventListener('abort', this.abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** What `promise` brings, or `expired` once the time is over; `late` is told when it settles after that. */
  race<T>(
    promise: Promise<T>,
    late: { onValue: () => void; onError: (error: unknown) => void },
  ): Promise<T | typeof expired> {
    return new Promise((resolve, reject) => {
      let over = false;
      const end = () => {
        over = true;
        resolve(expired);
      };
      if (this.signal.aborted) end();
      this.signal.addEventListener('abort', end, { once: true });
      promise.then(
        (value) => (over ? late.onValue() : resolve(value)),
        (error) => (over ? late.onError(error) : reject(error)),
      );
    });
  }

  clear(): void {
    clearTimeout(this.timeout);
    this.outer.removeEventListener('abort', this.abort);
  }
}

/** How many tools of a session run side by side; the others wait their turn, in order. */
export class Slots {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(count: number) {
    this.free = count;
  }

  /** Takes a slot, and gives the function that gives it back. Rejects when `signal` aborts before one is free. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.free > 0) this.free -= 1;
    else await this.turn(signal);
    return () => this.giveBack();
  }

  private turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.waiting.splice(this.waiting.indexOf(go), 1);
        reject(signal.reason);
      };
      this.waiting.push(go);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  private giveBack(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }
}
