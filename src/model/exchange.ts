import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { eventLoop } from '../host/event-loop.ts';
import type { RequestTimers } from './request-timers.ts';
import { streamedPart } from './sdk-model.ts';

/** How long a stream may take to end after its finish part, in ms. */
const finishGraceMs = 1_000;

/** Cancels a stream that came late, and has no reader. A model without types may have answered anything. */
async function cancelUnread(answer: { stream?: { cancel?: () => unknown } } | null | undefined): Promise<void> {
  try {
    await answer?.stream?.cancel?.();
  } catch {
    // Nobody waits for it any more.
  }
}

export type Exchanging = {
  /** Receives each part of a reply; `at` (epoch ms) is when it arrived, if the clock has already been read. */
  onPart: (part: LanguageModelV4StreamPart, at?: number) => void;
  /** Called when the provider takes the request, with the headers of its response, where it gives any. */
  onAccepted: (headers: Record<string, string> | undefined) => void;
};

/** Sends the request and passes each part of the reply to `onPart` as it arrives. */
export async function stream(
  model: LanguageModelV4,
  callOptions: LanguageModelV4CallOptions,
  timers: RequestTimers,
  exchanging: Exchanging,
): Promise<void> {
  const { onPart, onAccepted } = exchanging;
  if (typeof model.doStream !== 'function') return generate(model, callOptions, timers, exchanging);
  let parts: ReadableStream<LanguageModelV4StreamPart>;
  let response: { headers?: Record<string, string> } | undefined;
  try {
    ({ stream: parts, response } = await timers.orAborted(
      model.doStream(callOptions),
      (answer) => void cancelUnread(answer),
    ));
  } catch (error) {
    // Thrown before anything was sent: the model can't stream, so request a full response.
    if (cannotStream(error)) return generate(model, callOptions, timers, exchanging);
    throw error;
  }
  onAccepted(response?.headers);
  const reader = parts.getReader();
  // Cancelling ends the pending read even if the provider ignores the signal.
  const cancel = () => void reader.cancel().catch(() => undefined);
  timers.signal.addEventListener('abort', cancel, { once: true });
  let cancelGrace = () => {};
  let isEmpty = true;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done && isEmpty) checkStreamed(response?.headers);
      if (done) return;
      onPart(value, timers.touch());
      isEmpty &&= withoutContent.includes(value?.type);
      // A stream that never waits would keep its own timeouts from firing.
      if (eventLoop.isDue) {
        await eventLoop.turn();
        // That was no idleness of the provider's.
        timers.touch();
      }
      // The reply is complete: a connection that the server leaves open must not turn it into a timeout.
      if (value?.type === 'finish') cancelGrace = timers.after(finishGraceMs, cancel);
    }
  } catch (error) {
    cancel();
    throw error;
  } finally {
    cancelGrace();
    timers.signal.removeEventListener('abort', cancel);
  }
}

/** Parts that a response without a reply has too. */
const withoutContent = ['stream-start', 'response-metadata', 'raw', 'error', 'finish'];

/** Throws for a response without a reply that is no stream: it says what is wrong in its body, which the SDK drops. */
function checkStreamed(headers: Record<string, string> | undefined): void {
  const type = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  if (type === undefined || !/^application\/json\b/i.test(type)) return;
  const hint = 'If the server has no streams, set `settings.streaming: false`';
  throw new Error(
    `The server answered with ${type} instead of a stream. ${hint}; that also shows an error in its body.`,
  );
}

/** Returns true for an error by which a model says that it has no streams, in one of the ways that models do. */
function cannotStream(error: unknown): boolean {
  if (UnsupportedFunctionalityError.isInstance(error)) return true;
  if (APICallError.isInstance(error) || !(error instanceof Error)) return false;
  return (
    /stream/i.test(error.message) &&
    /not (supported|implemented|available)|unsupported|does ?n[o']t support/i.test(error.message)
  );
}

/** Requests a complete response and passes it to `onPart` as stream parts. */
export async function generate(
  model: LanguageModelV4,
  callOptions: LanguageModelV4CallOptions,
  timers: RequestTimers,
  { onPart, onAccepted }: Exchanging,
): Promise<void> {
  timers.expectWhole();
  const result = await timers.orAborted(model.doGenerate(callOptions));
  onAccepted(result.response?.headers);
  onPart({ type: 'stream-start', warnings: result.warnings });
  if (result.response !== undefined) {
    // The body and headers are not part of the reply.
    const { id, modelId, timestamp } = result.response;
    const metadata = { ...(id !== undefined && { id }), ...(modelId !== undefined && { modelId }) };
    onPart({ type: 'response-metadata', ...metadata, ...(timestamp !== undefined && { timestamp }) });
  }
  for (const part of result.content.flatMap((one) => streamedPart(one, '0'))) onPart(part);
  const { finishReason, usage, providerMetadata } = result;
  onPart({ type: 'finish', finishReason, usage, ...(providerMetadata !== undefined && { providerMetadata }) });
}
