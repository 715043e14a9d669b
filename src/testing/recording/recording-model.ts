import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { APICallError } from '@ai-sdk/provider';
import { z } from 'zod';
import { check } from '../../input/check.ts';
import { messageOf } from '../../input/errors.ts';
import { nonBlank } from '../../input/shapes.ts';
import { type SdkCall, type SdkModel, type SdkStreamPart, streamedPart } from '../../model/sdk-model.ts';
import { toBase64 } from '../../platform/bytes.ts';
import { redact, withoutSecrets } from '../../secrets/redact.ts';
import type { RecordedExchange, RecordingHead, ThrownError } from './exchange.ts';
import { outlineOfCall } from './outline.ts';

const aModel = z.custom<SdkModel>((value) => Object(value).specificationVersion === 'v4', {
  error: 'an AI SDK language model of specification v4',
});
const recordingSchema = z.strictObject({ model: aModel, file: nonBlank, secrets: z.array(z.string()).optional() });

/**
 * Returns the model, and writes down what it is asked and what it answers, part by part: a line of JSON for each request, in
 * a new file. `recordedModel` answers with it. What looks like a secret is taken out, and so is each text of
 * `secrets`; headers are not written at all. Throws `invalid_options`.
 */
export function recordingModel(
  model: SdkModel,
  file: string,
  { secrets = [] }: { secrets?: readonly string[] } = {},
): SdkModel {
  check<unknown>(recordingSchema, { model, file, secrets }, '', 'invalid_options');
  const { provider, modelId } = model;
  mkdirSync(dirname(file), { recursive: true });
  const head: RecordingHead = { pawl: 'recording', version: 1, provider, modelId };
  writeFileSync(file, `${JSON.stringify(head)}\n`);
  const write = (call: SdkCall, parts: SdkStreamPart[], error: unknown) => {
    const thrown = error === null ? null : thrownOf(error);
    const request = outlineOfCall(call).map((line) => redact(line, secrets));
    const exchange: RecordedExchange = { request, ...withoutSecrets({ parts, thrown }, secrets) };
    appendFileSync(file, `${JSON.stringify(exchange, binary)}\n`);
  };
  return {
    ...{ specificationVersion: 'v4', provider, modelId },
    get supportedUrls() {
      return model.supportedUrls;
    },
    async doGenerate(call) {
      try {
        const result = await model.doGenerate(call);
        write(call, partsOfResult(result), null);
        return result;
      } catch (error) {
        write(call, [], error);
        throw error;
      }
    },
    async doStream(call) {
      const parts: SdkStreamPart[] = [];
      let answer: Awaited<ReturnType<SdkModel['doStream']>>;
      try {
        answer = await model.doStream(call);
      } catch (error) {
        write(call, parts, error);
        throw error;
      }
      const { stream, ...rest } = answer;
      const reader = stream.getReader();
      let isWritten = false;
      const end = (error: unknown) => {
        if (!isWritten) write(call, parts, error);
        isWritten = true;
      };
      const kept = new ReadableStream<SdkStreamPart>({
        async pull(controller) {
          try {
            const { done, value } = await reader.read();
            if (done) {
              end(null);
              controller.close();
              return;
            }
            if (value.type !== 'raw') parts.push(value);
            controller.enqueue(value);
          } catch (error) {
            end(error);
            controller.error(error);
          }
        },
        async cancel(reason) {
          end(null);
          await reader.cancel(reason);
        },
      });
      return { stream: kept, ...rest };
    },
  };
}

/** A whole response, as the parts of a stream. */
function partsOfResult(result: Awaited<ReturnType<SdkModel['doGenerate']>>): SdkStreamPart[] {
  const { content, finishReason, usage, warnings, providerMetadata } = result;
  const parts = content.flatMap((part, index) => streamedPart(part, String(index)));
  const metadata = providerMetadata === undefined ? {} : { providerMetadata };
  return [{ type: 'stream-start', warnings }, ...parts, { type: 'finish', finishReason, usage, ...metadata }];
}

function thrownOf(error: unknown): ThrownError {
  if (!APICallError.isInstance(error))
    return { message: messageOf(error), statusCode: null, responseBody: null, headers: {} };
  const { message, statusCode = null, responseBody = null, responseHeaders = {} } = error;
  const headers = Object.entries(responseHeaders).filter(([name]) => /^retry-after/i.test(name));
  return { message, statusCode, responseBody, headers: Object.fromEntries(headers) };
}

/** Bytes are no JSON. */
function binary(_: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: toBase64(value) };
  return value instanceof Error ? { thrown: thrownOf(value) } : value;
}
