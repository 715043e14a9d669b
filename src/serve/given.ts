import { z } from 'zod';
import { checkContext } from '../agent/context.ts';
import type { Agent } from '../agent/definition.ts';
import { secretsOf } from '../agent/secrets.ts';
import { check } from '../input/check.ts';
import { PawlError, type PawlErrorCode, stackOf } from '../input/errors.ts';
import { aFunction, count } from '../input/shapes.ts';
import { type LoggerOption, loggerOf } from '../observe/log/logger.ts';
import { redact } from '../secrets/redact.ts';
import { commonOptions } from '../session/common-options.ts';
import { type Metadata, metadataShape } from '../vocabulary/metadata.ts';

/** What an application gives the session of a request. */
export type Given = { context: unknown; metadata: Metadata | undefined };

type GivenOptions = {
  logger?: LoggerOption;
  context?: (request: Request) => unknown;
  metadata?: (request: Request) => Metadata | Promise<Metadata>;
};

/** The options of a handler of requests that starts sessions. */
export const handlerShape = {
  logger: commonOptions.logger,
  onEvent: commonOptions.onEvent,
  telemetry: commonOptions.telemetry,
  budget: z.unknown().optional(),
  context: aFunction.optional(),
  metadata: aFunction.optional(),
  maxSessions: count.optional(),
};

/** The reason is logged; the caller does not see it. */
export class ServerFault extends Error {
  override readonly name = 'ServerFault';
}

const givenSchema = z.object({ metadata: metadataShape.optional() });

/** Returns the request whose body the server reads: a copy if a function of the application may read it, too. */
export function requestCopy(
  request: Request,
  { context, metadata, authorize }: Pick<GivenOptions, 'context' | 'metadata'> & { authorize?: unknown },
): Request {
  const isRead = [context, metadata, authorize].some((reader) => reader !== undefined);
  return isRead && !request.bodyUsed ? request.clone() : request;
}

/**
 * Returns what an application gives the session of a request. Throws the `Response` with which it refuses the caller, or
 * `ServerFault` if it throws anything else or returns what does not fit.
 */
export async function givenBy(
  request: Request,
  agent: Agent,
  { context, metadata, logger }: GivenOptions,
): Promise<Given> {
  return guarded(
    async () => {
      const given = { context: await context?.(request), metadata: await metadata?.(request) };
      checkContext(agent, given.context);
      check(givenSchema, given, '', 'invalid_options');
      return given;
    },
    agent,
    logger,
  );
}

/**
 * Runs an application's own code on a request. Throws the `Response` with which it refuses the caller, or `ServerFault` for
 * anything else that it throws.
 */
export async function guarded<T>(
  task: () => T | Promise<T>,
  agent: Agent,
  logger: LoggerOption | undefined,
): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (isResponse(error)) throw error;
    const line = { event: 'context.threw', error: redact(stackOf(error), secretsOf(agent.definition)) };
    loggerOf(logger).error(line, 'context(), metadata() or authorize() failed');
    throw new ServerFault('The server could not accept the request.', { cause: error });
  }
}

/**
 * Whether an application refuses with this. Where a server replaces the global `Response`, those that `fetch` returns are
 * not instances of it.
 */
export function isResponse(error: unknown): error is Response {
  return Object.prototype.toString.call(error) === '[object Response]' || error instanceof Response;
}

/** The errors that a caller can mend, with their statuses. */
const callersErrors: Partial<Record<PawlErrorCode, number>> = {
  invalid_messages: 400,
  session_unknown: 404,
  session_ended: 409,
};

/** The errors of a server that is not broken: its journal is unreachable, or a new release was deployed. */
const serversErrors: Partial<Record<PawlErrorCode, number>> = {
  agent_changed: 409,
  machines_changed: 409,
  tools_unavailable: 503,
  journal_failed: 503,
};

/**
 * Returns the status and the sentence that answer an error. Server errors are logged, without the secrets of the agents,
 * and answered without details.
 */
export function answerFor(
  error: unknown,
  logger: LoggerOption | undefined,
  agents: Iterable<Agent>,
): { status: number; message: string } {
  const code = error instanceof PawlError ? error.code : null;
  const status = code === null ? undefined : callersErrors[code];
  if (status !== undefined && error instanceof Error) return { status, message: error.message };
  if (error instanceof ServerFault) return { status: 500, message: error.message };
  const secrets = [...agents].flatMap(({ definition }) => secretsOf(definition));
  const line = { event: 'request.failed', error: redact(stackOf(error), secrets) };
  loggerOf(logger).error(line, 'a request could not be answered');
  return { status: (code !== null && serversErrors[code]) || 500, message: 'The server could not answer the request.' };
}
