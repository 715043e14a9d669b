import type { ScriptedResponse } from '../scripted-response.ts';
import { dataEvent, streamedPieces, type WireError, type WireFormat } from './wire.ts';

const finishReasons: Record<string, string> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
  'content-filter': 'SAFETY',
};

/** What Gemini calls its errors. */
const statuses: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** The calls of a reply as parts; null if an input is no object, which Gemini reports as a call that it could not write. */
function callParts({ calls = [] }: ScriptedResponse): object[] | null {
  const parts = calls.map(({ name, input = {}, id }) => {
    const args = typeof input === 'string' ? parsedObject(input) : input;
    return args === null ? null : { functionCall: { ...(id !== undefined && { id }), name, args } };
  });
  return parts.includes(null) ? null : (parts as object[]);
}

function parsedObject(text: string): object | null {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function streamOf(response: ScriptedResponse, model: string, index: number): string[] {
  const { text, reasoning, pieceLength } = response;
  const calls = callParts(response);
  const chunk = (parts: object[], more: object = {}) =>
    dataEvent({
      candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
      ...usageOf(response),
      modelVersion: model,
      responseId: `gemini-${index}`,
    });
  return [
    ...streamedPieces(reasoning, pieceLength).map((piece) => chunk([{ text: piece, thought: true }])),
    ...streamedPieces(text, pieceLength).map((piece) => chunk([{ text: piece }])),
    ...(calls === null || calls.length === 0 ? [] : [chunk(calls)]),
    chunk([], { finishReason: finishReasonOf(response, calls) }),
  ];
}

function bodyOf(response: ScriptedResponse, model: string, index: number): object {
  const { text, reasoning } = response;
  const calls = callParts(response);
  const parts = [
    ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...(calls ?? []),
  ];
  const finishReason = finishReasonOf(response, calls);
  return {
    candidates: [{ content: { role: 'model', parts }, index: 0, finishReason }],
    ...usageOf(response),
    modelVersion: model,
    responseId: `gemini-${index}`,
  };
}

function finishReasonOf({ finishReason = 'stop' }: ScriptedResponse, calls: object[] | null): string {
  return calls === null ? 'MALFORMED_FUNCTION_CALL' : (finishReasons[finishReason] ?? finishReason);
}

function usageOf({ usage: { input = 10, output = 5, reasoning = 0, cacheRead = 0 } = {} }: ScriptedResponse): object {
  return {
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output - reasoning,
      thoughtsTokenCount: reasoning,
      cachedContentTokenCount: cacheRead,
      totalTokenCount: input + output,
    },
  };
}

function googleError({ status, message }: WireError): object {
  return { error: { code: status, message, status: statuses[status] ?? 'UNKNOWN' } };
}

/** Gemini's `generateContent` and `streamGenerateContent`. */
export const gemini: WireFormat = {
  stream: streamOf,
  body: bodyOf,
  error: googleError,
  errorEvent: (error) => dataEvent(googleError(error)),
};
