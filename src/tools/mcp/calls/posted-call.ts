import { AsyncLocalStorage } from 'node:async_hooks';
import { eventLoopTurn } from '../../../host/clock.ts';

/** The call that a request over HTTP carries. */
const calls = new AsyncLocalStorage<PostedCall>();

/**
 * Sends a call. Over HTTP, rejects with `unanswered` if its response ends without an answer, which the SDK's client does
 * not report.
 */
export async function posted<T>(
  send: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
  unanswered: (why: string) => Error,
): Promise<T> {
  const call = new PostedCall();
  // The SDK leaves its listener on the signal, and Node keeps one of `AbortSignal.any` as long as it has listeners.
  const abort = () => call.abort(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    return await calls.run(call, () => send(call.signal));
  } catch (error) {
    throw call.signal.aborted && !signal.aborted ? unanswered(String(call.signal.reason)) : error;
  } finally {
    signal.removeEventListener('abort', abort);
    call.leave();
  }
}

/** `fetch` for one server, which watches the responses to calls. */
export function watching(send: typeof fetch): typeof fetch {
  /** Whether the server may send answers in a stream of its own. */
  let hasStream = false;
  return async (input, init) => {
    const call = init?.method === 'POST' ? calls.getStore() : undefined;
    // What the client posts while it handles the response, such as its answers to the server, has the same context.
    const isCall = call?.begin() === true;
    const response = await send(input, init);
    if (init?.method === 'GET') hasStream ||= isEventStream(response);
    return isCall ? call.watch(response, () => hasStream) : response;
  };
}

function isEventStream({ ok, headers }: Response): boolean {
  return ok && headers.get('content-type')?.includes('text/event-stream') === true;
}

class PostedCall {
  private readonly over = new AbortController();
  private isSent = false;
  private isOver = false;
  /** The client fetches the rest of a response that has ids after a break. */
  private isResumable = false;
  private end: (() => void) | null = null;

  /** Aborts with the call, or when the response has ended without an answer. */
  get signal(): AbortSignal {
    return this.over.signal;
  }

  abort(reason: unknown): void {
    this.over.abort(reason);
  }

  /** Ends the call. A server may never close the response to a cancelled one. */
  leave(): void {
    this.isOver = true;
    if (!this.isResumable) this.end?.();
    this.end = null;
  }

  /** Whether the request that is about to be sent is the call. */
  begin(): boolean {
    const isFirst = !this.isSent;
    this.isSent = true;
    return isFirst;
  }

  /** Returns the response to the call. `isElsewhere`: whether the answer may come elsewhere. */
  watch(response: Response, isElsewhere: () => boolean): Response {
    const over = (why: string) => this.ended(why, isElsewhere);
    if (response.status === 202) void over('it accepted the call as if it were a notification');
    if (!isEventStream(response) || response.body === null) return response;
    const watched = new TransformStream<Uint8Array, Uint8Array>({
      start: (controller) => {
        this.end = () => controller.terminate();
      },
      transform: (chunk, controller) => {
        this.isResumable ||= hasId(chunk);
        controller.enqueue(chunk);
      },
    });
    const ended = () => over('its response ended before that');
    response.body.pipeTo(watched.writable).then(ended, ended);
    // The same class that this `fetch` uses; the global one would have to be loaded.
    const Own = response.constructor as typeof Response;
    const { status, statusText, headers, url } = response;
    const own = new Own(watched.readable, { status, statusText, headers });
    return Object.defineProperty(own, 'url', { value: url });
  }

  private async ended(why: string, isElsewhere: () => boolean): Promise<void> {
    if (this.isResumable || isElsewhere()) return;
    // The last message may still be on its way to the client.
    await eventLoopTurn();
    await eventLoopTurn();
    if (!this.isOver) this.over.abort(why);
  }
}

/** Whether an event has an id. No line break is left in the JSON of its data. */
function hasId(chunk: Uint8Array): boolean {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return bytes.includes('\nid:') || bytes.subarray(0, 3).equals(Buffer.from('id:'));
}
