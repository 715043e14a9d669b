import { z } from 'zod';
import { check } from '../agent/check.ts';
import { checkContext } from '../agent/context.ts';
import type { Agent } from '../agent/definition.ts';
import { metadataShape } from '../agent/shapes.ts';
import { PawlError, type PawlErrorCode, stackOf } from '../errors.ts';
import type { Metadata } from '../journal/journal.ts';
import { type LoggerOption, loggerOf } from '../observe/log/logger.ts';

/** What an application gives the session of a request. */
export type Given = { context: unknown; metadata: Metadata | undefined };

type GivenOptions = {
  logger?: LoggerOption;
  context?: (request: Request) => unknown;
  metadata?: (request: Request) => Metadata | Promise<Metadata>;
};

/** Why the server cannot answer is in its log, and no business of the caller. */
export class ServerFault extends Error {
  override readonly name = 'ServerFault';
}

const givenSchema = z.object({ metadata: metadataShape.optional() });

/**
 * Prepares what an application gives the session of a request, before the request's body is read: `context` and
 * `metadata` may read it, too. The returned function throws the `Response` with which they refuse the caller, or
 * `ServerFault` if they throw anything else or return what does not fit.
 */
export function givenBy(
  request: Request,
  { context, metadata, logger }: GivenOptions,
): (agent: Agent) => Promise<Given> {
  const [forContext, forMetadata] = [context && request.clone(), metadata && request.clone()];
  return async (agent) => {
    try {
      const given = {
        context: forContext && (await context?.(forContext)),
        metadata: forMetadata && (await metadata?.(forMetadata)),
      };
      checkContext(agent, given.context);
      check(givenSchema, given, '', 'invalid_options');
      return given;
    } catch (error) {
      if (error instanceof Response) throw error;
      loggerOf(logger).error({ event: 'context.threw', error: stackOf(error) }, 'context() or metadata() failed');
      throw new ServerFault('The server could not accept the request.', { cause: error });
    }
  };
}

/** The errors that a caller can mend, with their statuses. */
const callersErrors: Partial<Record<PawlErrorCode, number>> = {
  invalid_messages: 400,
  session_unknown: 404,
  session_ended: 409,
};

/** The errors of a server that is not broken: its journal is away, or it was deployed anew. */
const serversErrors: Partial<Record<PawlErrorCode, number>> = {
  agent_changed: 409,
  machines_changed: 409,
  tools_unavailable: 503,
  journal_failed: 503,
};

/** Returns the status and the sentence that answer an error; one of the server is logged, and told without details. */
export function answerFor(error: unknown, logger: LoggerOption | undefined): { status: number; message: string } {
  const code = error instanceof PawlError ? error.code : null;
  const status = code === null ? undefined : callersErrors[code];
  if (status !== undefined && error instanceof Error) return { status, message: error.message };
  if (!(error instanceof ServerFault))
    loggerOf(logger).error({ event: 'request.failed', error: stackOf(error) }, 'a request could not be answered');
  const message = error instanceof ServerFault ? error.message : 'The server could not answer the request.';
  return { status: (code !== null && serversErrors[code]) || 500, message };
}
