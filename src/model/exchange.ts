import { setImmediate } from 'node:timers/promises';
import {
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import type { RequestTimers } from './request-timers.ts';

/** Ms that a stream has to end after its finish part. */
const finishGraceMs = 1_000;

/** Ms that a stream may be read without a look at the timers. */
const restEveryMs = 10;

/** Sends the request and hands on the parts of its reply as they come. */
export async function stream(
  model: LanguageModelV4,
  callOptions: LanguageModelV4CallOptions,
  timers: RequestTimers,
  onPart: (part: LanguageModelV4StreamPart) => void,
): Promise<void> {
  let parts: ReadableStream<LanguageModelV4StreamPart>;
  try {
    const streaming = Promise.resolve(model.doStream(callOptions));
    ({ stream: parts } = await timers.orAborted(streaming).catch((error) => {
      // One that comes too late is wanted by nobody.
      streaming.then(({ stream: late }) => late.cancel()).catch(() => undefined);
      throw error;
    }));
  } catch (error) {
    // Said before anything was sent: the model cannot stream, so it is asked for a whole response.
    if (UnsupportedFunctionalityError.isInstance(error)) return generate(model, callOptions, timers, onPart);
    throw error;
  }
  const reader = parts.getReader();
  let rested = performance.now();
  // A cancelled stream ends its pending read, also where the provider ignores the signal.
  const cancel = () => void reader.cancel().catch(() => undefined);
  timers.signal.addEventListener('abort', cancel, { once: true });
  let grace: NodeJS.Timeout | undefined;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      timers.touch();
      onPart(value);
      // A stream that never waits must not keep its own timeouts from coming.
      if (performance.now() - rested > restEveryMs) {
        await setImmediate();
        rested = performance.now();
      }
      // The reply is whole: a connection that the server leaves open must not make it a timeout.
      if (value.type === 'finish') grace = setTimeout(cancel, finishGraceMs);
    }
  } catch (error) {
    cancel();
    throw error;
  } finally {
    clearTimeout(grace);
    timers.signal.removeEventListener('abort', cancel);
  }
}

/** The same for a whole response. */
export async function generate(
  model: LanguageModelV4,
  callOptions: LanguageModelV4CallOptions,
  timers: RequestTimers,
  onPart: (part: LanguageModelV4StreamPart) => void,
): Promise<void> {
  timers.expectWhole();
  const result = await timers.orAborted(model.doGenerate(callOptions));
  onPart({ type: 'stream-start', warnings: result.warnings });
  if (result.response !== undefined) onPart({ type: 'response-metadata', ...result.response });
  for (const part of result.content) {
    if (part.type === 'text' || part.type === 'reasoning') {
      const id = '0';
      const metadata = part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata };
      onPart({ type: `${part.type}-start`, id, ...metadata });
      onPart({ type: `${part.type}-delta`, id, delta: part.text });
      onPart({ type: `${part.type}-end`, id });
    } else {
      onPart(part);
    }
  }
  onPart({ type: 'finish', finishReason: result.finishReason, usage: result.usage });
}
