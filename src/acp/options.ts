import type { Stream } from '@agentclientprotocol/sdk';
import type { Journal } from '../journal/journal.ts';
import type { EventListener } from '../observe/events.ts';
import type { LoggerOption } from '../observe/log/logger.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import type { SessionBudget } from '../session/options.ts';

export type AcpOptions = {
  /** Where the messages of the client come from and go to; default: the standard streams of this process, as lines of JSON. */
  stream?: Stream;
  /** Where talks are written down, so that the client finds, loads and resumes them. Default: nowhere. */
  journal?: Journal;
  /** Whether the agent also gets the client's files and terminals, as far as it offers them, as tools; default: true. */
  clientTools?: boolean;
  /** What each session is given, as for `startSession`. */
  context?: unknown;
  /** The budget of each prompt. */
  budget?: SessionBudget;
  /** As for a session. Default: pino at `warn` on stderr. */
  logger?: LoggerOption;
  onEvent?: EventListener;
  telemetry?: Telemetry;
};

/** What the sessions of a server are given. */
export type GivenToTalks = Omit<AcpOptions, 'stream'>;
