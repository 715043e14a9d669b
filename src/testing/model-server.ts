import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { check } from '../input/check.ts';
import { messageOf } from '../input/errors.ts';
import { count, flag, oneOf, text } from '../input/shapes.ts';
import { isRecord } from '../platform/plain-json.ts';
import { replySchema } from './rehearsal-model.ts';
import type { ScriptedResponse } from './scripted-response.ts';
import { anthropicMessages } from './wires/anthropic.ts';
import { gemini } from './wires/gemini.ts';
import { chatCompletions } from './wires/openai.ts';
import { openaiResponses } from './wires/responses.ts';
import type { WireFormat } from './wires/wire.ts';

/** OpenAI's chat completions, OpenAI's Responses, Anthropic's messages, and Gemini's `generateContent`. */
export const wires = ['openai', 'openai-responses', 'anthropic', 'gemini'] as const;
export type Wire = (typeof wires)[number];

const formats: Record<Wire, WireFormat> = {
  openai: chatCompletions,
  'openai-responses': openaiResponses,
  anthropic: anthropicMessages,
  gemini,
};

export type RecordedRequest = {
  wire: Wire;
  /** Whether it asks for a stream, which Gemini is told by its path. */
  streams: boolean;
  method: string;
  path: string;
  headers: Record<string, string>;
  /** The parsed JSON body; has empty `messages` if there was no body. */
  body: RequestBody;
};

/** Request body fields that wire formats share, loosely typed. */
export type RequestBody = {
  model?: string;
  stream?: boolean;
  system?: unknown;
  messages: { role: string; content?: unknown; tool_calls?: unknown; tool_call_id?: string }[];
  tools?: { name?: string; function?: { name: string }; functionDeclarations?: { name: string }[] }[];
  tool_choice?: unknown;
  [key: string]: unknown;
};

export type ServerScript =
  | readonly ScriptedResponse[]
  | ((request: RecordedRequest, index: number) => ScriptedResponse | PromiseLike<ScriptedResponse>);

export type ModelServer = {
  /** `http://127.0.0.1:port/v1`, the base URL for a provider. */
  readonly url: string;
  /** All requests so far, in order. */
  readonly requests: RecordedRequest[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

const atLeastZero = 'an integer of at least 0';
const amount = z.int({ error: atLeastZero }).min(0, { error: atLeastZero });
const aStatus = 'an HTTP status from 200 to 599';
const responseSchema = z.strictObject(
  {
    ...replySchema.omit({ throws: true, breaks: true, cut: true, hangs: true }).shape,
    status: z.int({ error: aStatus }).min(200, { error: aStatus }).max(599, { error: aStatus }).optional(),
    headers: z.record(z.string(), text, { error: 'an object of strings' }).optional(),
    error: z.strictObject({ type: text.optional(), code: text.optional(), message: text.optional() }).optional(),
    body: text.optional(),
    errorEvent: z.strictObject({ afterEvents: amount, type: text, message: text }).optional(),
    garbage: z.strictObject({ afterEvents: amount, text }).optional(),
    cut: z.strictObject({ afterBytes: amount, how: oneOf('end', 'reset') }).optional(),
    pieceLength: count.optional(),
    reset: flag.optional(),
    hang: z.union([flag, z.strictObject({ afterBytes: amount })], { error: 'a boolean or { afterBytes }' }).optional(),
  } satisfies Record<keyof ScriptedResponse, z.ZodType>,
  { error: 'a response, such as { text } or { status }' },
);
const scriptSchema = z.array(responseSchema, { error: 'an array of responses, or a function that returns one' });

async function responseOf(script: ServerScript, request: RecordedRequest, index: number): Promise<ScriptedResponse> {
  if (typeof script !== 'function') return script[Math.min(index, script.length - 1)] ?? {};
  const response = await script(request, index);
  check<unknown>(responseSchema, response, 'response', 'invalid_options');
  return response;
}

/**
 * Starts a model server on the loopback address for OpenAI's chat completions (`/chat/completions`) and Responses
 * (`/responses`), Anthropic's messages (`/messages`) and Gemini (`/models/NAME:generateContent` and
 * `:streamGenerateContent`), streaming or not. It responds from a script, whose last response repeats, or from a function.
 * It misbehaves on command and records every request. If the function throws or returns no response, the server
 * responds with 500 and the message. Rejects with `invalid_options`.
 */
export async function startModelServer(script: ServerScript): Promise<ModelServer> {
  if (typeof script !== 'function') check<unknown>(scriptSchema, script, 'script', 'invalid_options');
  // Loading it takes longer than the rest of `pawl/testing`.
  const { createServer } = await import('node:http');
  const requests: RecordedRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    receive(incoming)
      .then(async (request) => {
        const index = requests.push(request) - 1;
        await respond(request, await responseOf(script, request, index), outgoing, index);
      })
      .catch((error) => {
        if (outgoing.headersSent) outgoing.destroy();
        else {
          const status = error instanceof BadRequest ? 400 : 500;
          outgoing.writeHead(status, json).end(errorBody(wireOf(incoming), status, { message: messageOf(error) }));
        }
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}/v1`, requests, close, [Symbol.asyncDispose]: close };
}

const json = { 'content-type': 'application/json' };

function wireOf({ url = '' }: IncomingMessage): Wire {
  const path = url.split('?')[0] ?? '';
  if (path.endsWith('/messages')) return 'anthropic';
  if (path.endsWith('/responses')) return 'openai-responses';
  return /:(?:stream)?generateContent$/i.test(path) ? 'gemini' : 'openai';
}

async function receive(incoming: IncomingMessage): Promise<RecordedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
  const wire = wireOf(incoming);
  const path = incoming.url ?? '';
  const body = chunks.length === 0 ? { messages: [] } : requestBody(Buffer.concat(chunks).toString('utf8'));
  const streams = wire === 'gemini' ? path.includes(':stream') : body.stream === true;
  return { wire, streams, method: incoming.method ?? '', path, headers, body };
}

class BadRequest extends Error {}

function requestBody(text: string): RequestBody {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new BadRequest(messageOf(error));
  }
  if (!isRecord(body)) throw new BadRequest('the body is no object');
  return body as RequestBody;
}

async function respond(
  request: RecordedRequest,
  response: ScriptedResponse,
  outgoing: ServerResponse,
  index: number,
): Promise<void> {
  if (response.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, response.delayMs));
  if (response.reset === true) {
    outgoing.socket?.resetAndDestroy();
    return;
  }
  if (response.hang === true) return;
  const { status = 200, headers = {} } = response;
  const streams = request.streams && status < 400 && response.body === undefined;
  outgoing.writeHead(status, { ...(streams ? { 'content-type': 'text/event-stream' } : json), ...headers });
  const body = Buffer.from(
    response.body ??
      (status >= 400 ? errorBody(request.wire, status, response.error) : replyBody(request, response, index)),
  );
  const { hang, cut } = response;
  if (typeof hang === 'object') {
    outgoing.write(body.subarray(0, hang.afterBytes));
  } else if (cut === undefined) {
    outgoing.end(body);
  } else if (cut.how === 'end') {
    outgoing.end(body.subarray(0, cut.afterBytes));
  } else {
    outgoing.write(body.subarray(0, cut.afterBytes), () => setImmediate(() => outgoing.socket?.resetAndDestroy()));
  }
}

function replyBody({ wire, streams, path, body }: RecordedRequest, response: ScriptedResponse, index: number): string {
  const format = formats[wire];
  const model = body.model ?? /models\/([^:/?]+):/.exec(path)?.[1] ?? 'scripted';
  if (!streams) return JSON.stringify(format.body(response, model, index));
  const events = format.stream(response, model, index);
  const { garbage, errorEvent } = response;
  if (errorEvent !== undefined) {
    const { afterEvents, type, message } = errorEvent;
    events.splice(afterEvents, events.length, format.errorEvent({ status: 500, type, code: type, message }));
  }
  if (garbage !== undefined) events.splice(garbage.afterEvents, 0, garbage.text);
  return events.join('');
}

function errorBody(wire: Wire, status: number, error: ScriptedResponse['error'] = {}): string {
  const { type = 'scripted_error', code = type, message = 'scripted error' } = error;
  return JSON.stringify(formats[wire].error({ status, type, code, message }));
}
