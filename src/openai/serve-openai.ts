import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Agent } from '../agent/definition.ts';
import { check } from '../input/check.ts';
import { onNode } from '../input/on-node.ts';
import { type CallerOptions, callerSchema, checkHttp } from '../serve/http-options.ts';
import { anthropicError, isForAnthropic } from './messages/message-answer.ts';
import { type OpenaiOptions, openaiHandler, openaiOptionsShape } from './openai-handler.ts';
import { openaiError } from './outcome.ts';
import type { ServedOpenai } from './served-openai.ts';

export type ServeOpenaiOptions = OpenaiOptions & {
  /** As for `serveMcp`; a client that vanished aborts its session at once. Default: a free port of 127.0.0.1. */
  http?: CallerOptions;
};

/**
 * Serves agents as the models of an API like OpenAI's, so that any chat client can talk to them (`openaiHandler`). The
 * same rules hold as for `serveMcp`: off loopback it needs a token, and the lists of hosts and origins.
 */
export async function serveOpenai(agents: readonly Agent[], options: ServeOpenaiOptions = {}): Promise<ServedOpenai> {
  check(z.strictObject({ ...openaiOptionsShape, http: z.unknown().optional() }), options, 'options', 'invalid_options');
  const { http = {}, ...own } = options;
  checkHttp(callerSchema(), http, 'http');
  const handler = openaiHandler(agents, own);
  const { serveRequests } = await onNode('`serveOpenai`', () => import('../serve/node-server.ts'));
  const refused = ({ status, message }: { status: number; message: string }, request?: IncomingMessage) => ({
    body: JSON.stringify(
      isForAnthropic(request?.url ?? '/', request?.headers ?? {})
        ? anthropicError(message, status)
        : openaiError(message, 'invalid_request_error', null),
    ),
    headers: { 'content-type': 'application/json', ...(status === 401 && { 'www-authenticate': 'Bearer' }) },
  });
  const server = await serveRequests(handler, { callers: http, forPages: true, logger: own.logger, refused });
  const close = () => server.close(handler.ended);
  return { url: `${server.origin}/v1`, closed: server.closed, close, [Symbol.asyncDispose]: close };
}
