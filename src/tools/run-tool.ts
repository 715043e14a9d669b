import { failure, type Message, type ToolOutcome, type ToolOutput, type ToolRequest } from '../../machines/index.ts';
import { estimateTokens } from '../context/tokens.ts';
import type { Sighting } from '../observe/events.ts';
import type { Catalog, CatalogTool } from './catalog.ts';
import { cap, type Rendered, renderError, renderValue } from './result.ts';

export type ToolEffectOptions = {
  catalog: Catalog;
  timeoutMs: number;
  /** What a result may take of the conversation, in bytes. */
  resultBytes: number;
  slots: Slots;
  sight: (sighting: Sighting) => void;
  /** Where the original error of a tool goes (C-3). */
  onError: (name: string, callId: string, error: unknown) => void;
  redact: (text: string) => string;
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
  const { catalog, slots, timeoutMs, resultBytes } = options;
  const tool = catalog.get(name);
  if (tool === undefined) throw new Error(`there is no tool ${name}`);
  const input = catalog.takeInput(callId);
  const release = await slots.take(signal);
  const limit = new Limit(timeoutMs, signal);
  try {
    const value = await limit.race(invoke(tool, input, callId, limit.signal, options), {
      onValue: () => options.sight({ type: 'effect.late', key: `tool call ${callId}` }),
      onError: (error) => options.onError(name, callId, error),
    });
    if (value === expired) return timedOut(name, timeoutMs);
    const rendered = await render(tool, value, input, callId, options);
    return outcome(rendered, rendered.result.success ? null : 'tool_exec_failed');
  } catch (error) {
    options.onError(name, callId, error);
    return outcome(renderError(error, resultBytes, options.redact), 'tool_exec_failed');
  } finally {
    limit.clear();
    release();
  }
}

async function invoke(
  tool: CatalogTool,
  input: unknown,
  callId: string,
  signal: AbortSignal,
  { sight, resultBytes, redact, messages }: ToolEffectOptions,
): Promise<unknown> {
  const returned = await tool.execute(input, { callId, signal, messages });
  if (!isAsyncIterable(returned)) return returned;
  let last: unknown;
  for await (const value of returned) {
    last = value;
    sight({ type: 'tool.progressed', callId, name: tool.name, output: renderValue(value, resultBytes, redact).output });
    if (signal.aborted) break;
  }
  return last;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function render(
  tool: CatalogTool,
  value: unknown,
  input: unknown,
  callId: string,
  { resultBytes, redact }: ToolEffectOptions,
): Promise<Rendered> {
  const rendered = renderValue(value, resultBytes, redact);
  if (tool.toModelOutput === null || !rendered.result.success) return rendered;
  return { ...rendered, output: capOutput(await tool.toModelOutput(value, input, callId), resultBytes) };
}

function capOutput(output: ToolOutput, resultBytes: number): ToolOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: cap(output.value, resultBytes) };
    case 'json':
    case 'error-json': {
      const text = JSON.stringify(output.value);
      if (Buffer.byteLength(text) <= resultBytes) return output;
      return { type: output.type === 'json' ? 'text' : 'error-text', value: cap(text, resultBytes) };
    }
    case 'content': {
      const value = output.value.map((part) =>
        part.type === 'text' ? { ...part, text: cap(part.text, resultBytes) } : part,
      );
      return { type: 'content', value };
    }
    case 'execution-denied':
      return output;
    default:
      return output satisfies never;
  }
}

function outcome({ result, output }: Rendered, slug: ToolOutcome['slug']): ToolOutcome {
  const text =
    'value' in output ? (typeof output.value === 'string' ? output.value : JSON.stringify(output.value)) : '';
  return { slug, result, output, tokens: estimateTokens(text) };
}

function timedOut(name: string, timeoutMs: number): ToolOutcome {
  const message = `${name} did not finish within ${timeoutMs} ms and was given up.`;
  return outcome({ result: failure(message), output: { type: 'error-text', value: message } }, 'tool_timeout');
}

const expired = Symbol('expired');

/** The time that a tool has, and a signal that aborts when it is over or the session is aborted. */
class Limit {
  private readonly controller = new AbortController();
  private readonly timeout: NodeJS.Timeout;
  private readonly outer: AbortSignal;
  private readonly abort = () => this.controller.abort(this.outer.reason);

  constructor(timeoutMs: number, outer: AbortSignal) {
    this.outer = outer;
    this.timeout = setTimeout(() => this.controller.abort(new Error(`not finished within ${timeoutMs} ms`)), timeoutMs);
    outer.addEventListener('abort', this.abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** What `promise` brings, or `expired` once the time is over; `late` is told when it settles after that. */
  race(promise: Promise<unknown>, late: { onValue: () => void; onError: (error: unknown) => void }): Promise<unknown> {
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
