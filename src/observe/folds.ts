import type { Message } from '../../machines/index.ts';
import { FollowedCalls } from './calls/followed-calls.ts';
import { KeptResults } from './calls/kept-results.ts';
import { PastCalls } from './calls/past-calls.ts';
import { AskedCalls, ClientCalls, WaitingApprovals } from './calls/waiting-calls.ts';
import { Conversation } from './conversation.ts';
import { SessionCounters } from './counters.ts';
import type { EventListener, Fold, ToolTraits } from './events.ts';
import { Listener } from './listener.ts';
import type { Logger } from './log/logger.ts';
import { type LogContext, SessionLog } from './log/session-log.ts';
import { Records } from './records.ts';
import { type Slice, Slices } from './slices.ts';
import { EventStream } from './stream/event-stream.ts';
import type { SessionTelemetry } from './telemetry.ts';

export type FoldOptions = LogContext & {
  messages: Message[];
  logger: Logger;
  onEvent: EventListener | null;
  telemetry: Pick<SessionTelemetry, 'event'> | null;
  /** What the session was given, for its listener. */
  context: unknown;
  /** For a sub-agent: takes its events into the stream of the session above. */
  forward: EventListener | null;
  slices: Record<string, Slice>;
  tools: ToolTraits;
  /** Maximum bytes of a result read at once. */
  resultBytes: number;
  /** Returns a result that a session above keeps; null if none does. Default: none is above. */
  resultAbove?: (id: string) => string | null;
  /** User code threw. */
  onFailure: (observer: string, error: unknown) => void;
};

/**
 * A session's folds. They receive events in this order, so a fold may read those above it. The audience comes last: it
 * tells the world, so it gets nothing that is only replayed.
 */
export function makeFolds(options: FoldOptions) {
  const { messages, slices, resultBytes, resultAbove, telemetry, onFailure } = options;
  const session = Object.freeze({ context: options.context, metadata: options.metadata });
  const conversation = new Conversation(messages, options.tools);
  const records = new Records();
  const counters = new SessionCounters(records);
  return {
    conversation,
    records,
    counters,
    pastCalls: new PastCalls(conversation, options.tools),
    approvals: new WaitingApprovals(),
    clientCalls: new ClientCalls(options.tools),
    askedCalls: new AskedCalls(),
    followedCalls: new FollowedCalls(),
    keptResults: new KeptResults(resultBytes, conversation, options.secrets, resultAbove),
    slices: new Slices(slices, onFailure),
    stream: new EventStream(),
    parent: new Listener(options.forward, onFailure, session),
    log: new SessionLog(options, records, counters),
    telemetry: new Listener(telemetry && ((event) => telemetry.event(event)), onFailure, session, 'telemetry'),
    listener: new Listener(options.onEvent, onFailure, session),
  } satisfies Record<string, Fold>;
}

export type Folds = ReturnType<typeof makeFolds>;
