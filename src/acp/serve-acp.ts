import { Readable, Writable } from 'node:stream';
import {
  agent as acpAgent,
  type McpServer,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type Stream,
} from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { checkContext } from '../agent/context.ts';
import { type Agent, requireAgent } from '../agent/definition.ts';
import { check } from '../input/check.ts';
import { PawlError } from '../input/errors.ts';
import { aFunction, flag, hasMethods } from '../input/shapes.ts';
import { aJournal } from '../journal/given.ts';
import { isRecord } from '../platform/plain-json.ts';
import { packageVersion } from '../platform/version.ts';
import { commonOptions } from '../session/common-options.ts';
import { sessionInput } from '../session/input.ts';
import type { AcpOptions } from './options.ts';
import { type ForkRequest, Talks } from './talks.ts';

export type ServedAcp = {
  /** Resolves when the client has gone and all sessions have ended. */
  readonly closed: Promise<void>;
  /** Suspends what runs, if there is a journal, otherwise aborts it; and closes the connection. */
  close(): Promise<void>;
};

const optionsSchema = z.strictObject({
  stream: z.custom<Stream>(isStream, { error: 'a stream of messages: { readable, writable }' }).optional(),
  journal: aJournal.optional(),
  clientTools: flag.optional(),
  context: z.unknown().optional(),
  budget: z.unknown().optional(),
  logger: commonOptions.logger,
  onEvent: aFunction.optional(),
  telemetry: commonOptions.telemetry,
} satisfies Record<keyof AcpOptions, z.ZodType>);

/**
 * Serves an agent to an editor over the Agent Client Protocol. Each prompt starts a session that continues the conversation;
 * the editor's user decides approvals. A talk can be forked (`session/fork`, unstable in the protocol). Cancelling a prompt aborts its session. A failed session is an error with its slugs,
 * except when its bound (`max_turn_requests`) or a refusal ended it. Throws `invalid_options` and `invalid_budget`.
 */
export function serveAcp(agent: Agent, options: AcpOptions = {}): ServedAcp {
  requireAgent(agent);
  check(optionsSchema, options, 'options', 'invalid_options');
  sessionInput(agent, options.budget ?? {}, 0);
  checkContext(agent, options.context);
  const { stream = standardStreams(), ...own } = options;
  const talks = new Talks(agent, own);
  const { session } = methods.agent;
  const app = acpAgent({ name: agent.name })
    .onRequest(methods.agent.initialize, ({ params: { clientCapabilities } }) => {
      talks.capabilities = clientCapabilities ?? {};
      const isKept = options.journal !== undefined;
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: agent.name, version: packageVersion },
        agentCapabilities: {
          loadSession: isKept,
          promptCapabilities: { image: true, embeddedContext: true },
          mcpCapabilities: { http: true, sse: true },
          sessionCapabilities: { close: {}, ...{ fork: {} }, ...(isKept && { list: {}, resume: {} }) },
        },
      };
    })
    .onRequest(session.new, ({ params, client }) => told(() => ({ sessionId: talks.begin(params, client) })))
    .onRequest(session.prompt, ({ params, signal }) =>
      told(() => talks.get(params.sessionId).prompt(params.prompt, signal)),
    )
    .onRequest(session.load, ({ params, client }) => told(() => talks.load(params, client, true).then(() => ({}))))
    .onRequest(session.resume, ({ params, client }) => told(() => talks.load(params, client, false).then(() => ({}))))
    // The protocol's unstable part has it, so the stable methods of the SDK lack it.
    .onRequest('session/fork', forkRequest, ({ params, client }) =>
      told(async () => ({ sessionId: await talks.fork(params, client) })),
    )
    .onRequest(session.list, ({ params }) => told(() => talks.list(params)))
    .onRequest(session.close, ({ params }) => told(() => talks.end(params.sessionId)))
    .onNotification(session.cancel, ({ params }) => talks.get(params.sessionId).cancel());
  const connection = app.connect(stream);
  talks.isConnected = () => !connection.signal.aborted;
  const closed = connection.closed.then(() => talks.close());
  return {
    closed,
    close: async () => {
      await talks.close();
      connection.close();
      await closed;
    },
  };
}

const forkSchema = z.object({
  sessionId: z.string(),
  cwd: z.string(),
  mcpServers: z
    .array(z.custom<McpServer>(isServer, { error: '{ name, url, headers } or { name, command, args, env }' }))
    .optional(),
});
const pairs = z.array(z.object({ name: z.string(), value: z.string() }));
const serverSchema = z.union([
  z.looseObject({ name: z.string(), url: z.string(), headers: pairs }),
  z.looseObject({ name: z.string(), command: z.string(), args: z.array(z.string()), env: pairs }),
]);

function isServer(value: unknown): boolean {
  return serverSchema.safeParse(value).success;
}

function forkRequest(params: unknown): ForkRequest {
  const { success, data, error } = forkSchema.safeParse(params);
  if (!success) throw RequestError.invalidParams(z.flattenError(error).fieldErrors);
  return data;
}

/** Runs a request. Its client gets the reason of an error of Pawl, which the protocol's own would hide. */
async function told<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof PawlError ? RequestError.internalError({ code: error.code }, error.message) : error;
  }
}

function isStream(value: unknown): boolean {
  return isRecord(value) && hasMethods(value.readable, 'getReader') && hasMethods(value.writable, 'getWriter');
}

function standardStreams(): Stream {
  const output = Writable.toWeb(process.stdout) as WritableStream<Uint8Array>;
  return ndJsonStream(output, Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>);
}
