import type { Transport } from '@modelcontextprotocol/server';
import type { Journal } from '../journal/journal.ts';
import type { EventListener } from '../observe/events.ts';
import type { LoggerOption } from '../observe/log/logger.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import type { SessionBudget } from '../session/options.ts';
import type { Metadata } from '../vocabulary/metadata.ts';
import type { HttpOptions } from './http-options.ts';

export type ServeMcpOptions = {
  /**
   * `stdio`: this process's streams, for a client that starts it. `http`: streamable HTTP at `/mcp`, by default on a
   * free port of 127.0.0.1. Or a ready-made transport.
   */
  transport: 'stdio' | { http: HttpOptions } | Transport;
  /** As for a session. Default: pino at `warn` on stderr. */
  logger?: LoggerOption;
  /** The budget of each call. */
  budget?: SessionBudget;
  /** What every session is given, as for `startSession`. */
  context?: unknown;
  metadata?: Metadata;
  /** Sessions at once, for all clients together; a call beyond them gets an error; default: 16. */
  maxSessions?: number;
  /** Where the sessions of `tasks` are written down; others are not. */
  journal?: Journal;
  /**
   * Whether a call of a client that declares the extension `io.modelcontextprotocol/tasks` is a task: it returns a handle at
   * once, which outlives the connection and, in the `journal`, this process. True for all agents, or the names of some.
   * Default: false. `close` suspends the tasks, and the next process that is asked for one resumes it.
   */
  tasks?: boolean | readonly string[];
  /** Called with the events of all sessions. */
  onEvent?: EventListener;
  telemetry?: Telemetry;
};

export type ServedAgent = {
  /** The server's URL over HTTP; null over other transports. */
  readonly url: string | null;
  /** Resolves when either side has closed the server. */
  readonly closed: Promise<void>;
  /** Aborts all running sessions and closes the server. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};
