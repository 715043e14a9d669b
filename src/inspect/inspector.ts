import { z } from 'zod';
import { type Agent, anAgent } from '../agent/definition.ts';
import { notedSecrets } from '../agent/secrets.ts';
import { check } from '../input/check.ts';
import { port as aPort, texts } from '../input/shapes.ts';
import { aJournal } from '../journal/given.ts';
import type { Journal } from '../journal/journal.ts';
import { unknownSession } from '../journal/journal-errors.ts';
import { MemoryJournal } from '../journal/memory.ts';
import { environmentSecrets } from '../secrets/credentials.ts';
import { serveInspector } from './live/server.ts';
import { WatchedJournal } from './live/watched-journal.ts';
import { sessionFile } from './tape/session-file.ts';

export type InspectorOptions = {
  /** Where the sessions are written down. Default: in memory, where the latest 50 that have ended are kept. */
  journal?: Journal;
  /** The port of the page on 127.0.0.1; 0 for any free one. Default: none, and nothing listens. */
  port?: number;
  /** The agents whose forked sessions are resumed in this process. Default: none. */
  agents?: readonly Agent[];
  /** Secrets to take out of what is shown, in addition to those of agents and those of a known shape (S-5). */
  secrets?: readonly string[];
};

export type Inspector = {
  /** Pass it to `startSession`, `resumeSession` or a handler as `journal`, for any number of sessions. */
  readonly journal: Journal;
  /** The address of the page, with its token; null without a `port`. */
  readonly address: string | null;
  /** Returns a session as one HTML file with its viewer. Rejects with `session_unknown`. */
  file(sessionId: string): Promise<string>;
  /** Closes the page. The journal that was passed stays open. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

const keptSessions = 50;

const optionsSchema = z.strictObject({
  journal: aJournal.optional(),
  port: aPort.optional(),
  agents: z.array(anAgent).optional(),
  secrets: texts.optional(),
} satisfies Record<keyof InspectorOptions, z.ZodType>);

/**
 * Shows sessions, live and recorded: the page runs the real machines over what the journal holds. Nothing listens unless
 * a `port` is given. Rejects with `invalid_options` if the port is taken.
 */
export async function inspector(options: InspectorOptions = {}): Promise<Inspector> {
  check(optionsSchema, options, '', 'invalid_options', 'options');
  const { port, agents = [], secrets: given = [] } = options;
  const journal = new WatchedJournal(options.journal ?? new MemoryJournal({ keep: keptSessions }));
  const ofEnvironment = environmentSecrets(process.env);
  const secrets = () => [...given, ...notedSecrets(), ...ofEnvironment];
  const server = port === undefined ? null : await serveInspector(journal, { port, secrets, agents });
  let closing: Promise<void> | undefined;
  const close = async () => {
    closing ??= server?.close();
    await closing;
  };
  return {
    journal,
    address: server?.address ?? null,
    file: async (sessionId) => {
      const entries = await journal.read(sessionId);
      if (entries.length === 0) throw unknownSession(sessionId);
      return sessionFile(entries, { secrets: secrets() });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
