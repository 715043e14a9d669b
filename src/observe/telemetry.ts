import type { Message } from '../../machines/index.ts';
import type { Metadata } from '../journal/journal.ts';
import type { SessionEvent } from './events.ts';

/** Watches sessions and surrounds their work with spans, such as `openTelemetry()` from `pawl/otel`. */
export type Telemetry = {
  session(about: TelemetrySession): SessionTelemetry;
};

export type TelemetrySession = {
  sessionId: string;
  agent: string;
  metadata: Metadata;
  /** The call of the session above, for a sub-agent. */
  parent: { sessionId: string; callId: string } | null;
  /** The conversation, without secrets. */
  messages: () => readonly Message[];
};

export type SessionTelemetry = {
  /** Receives the session's own events, live. */
  event(event: SessionEvent): void;
  /** Performs the work of the effect that has this key. */
  around<Result>(key: string, work: () => Promise<Result>): Promise<Result>;
};
