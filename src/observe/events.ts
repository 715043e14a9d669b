import type { Counters, Fact, Failure, JsonObject, PrefixBreak, Repairs, ToolOutput } from '../../machines/index.ts';
import { ownCopy } from '../platform/own-copy.ts';
import type { Metadata } from '../vocabulary/metadata.ts';

/** An observation that is not a fact of the machines. It affects no decision; a replay does not need it. */
export type Sighting =
  /** A piece of a streamed reply (S-6). `part` numbers the parts of an attempt's reply, from 0. */
  | {
      type: 'model.delta';
      turn: number;
      attempt: number;
      part: number;
      kind: 'text' | 'reasoning' | 'tool-input';
      /** The call and its tool, for `tool-input`; otherwise null. */
      callId: string | null;
      toolName: string | null;
      delta: string;
    }
  /** A tool sent output before it finished. */
  | { type: 'tool.progressed'; callId: string; name: string; output: ToolOutput }
  /** A call of a client-side tool waits for its answer (`Session.answer`). */
  | { type: 'tool.handedOut'; callId: string; name: string; input: JsonObject }
  /** An MCP server answered a call with a task: its result is waited for under this id, also after a crash (D-4). */
  | { type: 'tool.followed'; callId: string; name: string; taskId: string }
  /** The result of a call is one that its tool's cache had kept for so many ms. */
  | { type: 'tool.cached'; callId: string; name: string; ageMs: number }
  /** The MCP server of a call asks its user, who answers by `Session.answer` with an object of this JSON Schema. */
  | { type: 'tool.asked'; callId: string; name: string; message: string; schema: JsonObject }
  /** That question was answered, or declined. */
  | { type: 'tool.replied'; callId: string; name: string; accepted: boolean }
  /** Malformed input messages were repaired (C-6). */
  | { type: 'conversation.repaired'; repairs: Repairs }
  /** A sub-agent's session started or ended (B-7). Its own events carry its path. */
  | { type: 'subAgent.started'; callId: string; name: string; childSessionId: string }
  | {
      type: 'subAgent.ended';
      callId: string;
      name: string;
      childSessionId: string;
      status: 'succeeded' | 'failed' | 'aborted' | 'suspended';
      counters: Counters;
    }
  /** An MCP server connected, was lost or changed its list of tools, or an optional one is unavailable. */
  | { type: 'server.connected'; server: string; tools: string[] }
  | { type: 'server.lost'; server: string; message: string }
  | { type: 'server.unavailable'; server: string; message: string }
  | { type: 'server.toolsChanged'; server: string; tools: string[] }
  /** A model is asked for a summary (T-9): a request, as that of an attempt is. */
  | { type: 'summary.requested'; turn: number; target: string }
  /** The request of this attempt does not extend the one before, so no cache of a provider is read (B-5d). */
  | { type: 'prefix.broken'; turn: number; attempt: number; target: string; cause: PrefixBreak }
  /** A provider's warning, such as an ignored setting; each is reported once. */
  | { type: 'model.warned'; target: string; warning: string }
  /** A result for a settled effect was dropped (D-2). */
  | { type: 'effect.late'; key: string }
  /** The session continues after a crash or a suspension. `interrupted`: the keys of what had begun and not ended (D-4). */
  | { type: 'session.resumed'; interrupted: string[] }
  /** The session stopped before its end: `slugs` is `suspended` or `journal_failed`. It can be resumed. */
  | { type: 'session.suspended'; failure: Failure }
  /** A user's observer threw. Those of events and of inspection are reported once, and a slice is not called again. */
  | { type: 'observer.failed'; observer: string; message: string };

export type Envelope = {
  sessionId: string;
  agent: string;
  /** Epoch ms. */
  at: number;
  /** The sub-agents from the stream's session down to the event's; empty for the session's own events. */
  path: readonly string[];
};

/**
 * The position in the stream, from 1. It grows by 1 with each event, and with a delta by the length of its text: the
 * delta has the position of its last character. A reader that has `seq` continues with `eventsFrom(seq + 1)`.
 */
export type Positioned = { seq: number };

/**
 * What an event adds to its fact. A new call's holds its input, because an approver needs it. A failed attempt's says how
 * many parts had begun: the deltas of all of them are taken back (S-6). After a crash that is not known, and the number is
 * larger than any (`Number.MAX_SAFE_INTEGER`).
 */
type Published<F> = F extends { type: 'tool.requested' | 'tool.approvalRequested' }
  ? F & { input: JsonObject }
  : F extends { type: 'attempt.failed' }
    ? F & { partsTakenBack: number }
    : F;

/** An event of the stream, `onEvent` and the slices. */
export type SessionEvent = (Published<Fact> | Sighting) & Envelope & Positioned;

/** Receives the events of a session, with the `context` and `metadata` that the session was given. */
export type EventListener = (event: SessionEvent, session: { context: unknown; metadata: Metadata }) => unknown;

/** What folds need to know about an agent's own tools, by name. */
export type ToolTraits = ReadonlyMap<
  string,
  {
    /** Its calls are answered from outside. */
    isClientSide?: boolean;
    /** Whether it can take back what its calls did. */
    undo?: unknown;
    /** The agent that it hands the conversation to. */
    handsTo?: string;
  }
>;

/**
 * State derived from a session's events. A fold with only a `fact` method can be rebuilt from a journal. To add a
 * fold, add its file, and a row in folds.ts.
 */
export type Fold = {
  /** A machine fact; `at` is the time of its delivery, in epoch ms. */
  fact?(fact: Fact, at: number): void;
  /** An observation that is not a fact. */
  sighting?(sighting: Sighting): void;
  /** An event as listeners receive it: a fact or sighting in its envelope, or a sub-agent's event (see `path`). */
  event?(event: SessionEvent): void;
  /** Whether `event` gets deltas, too. There are very many, and few folds need them. */
  readonly takesDeltas?: boolean;
  /** Nobody listens: it is told nothing. */
  readonly isIdle?: boolean;
};

/** Returns an event that its reader may change: events share their content with the session until one takes them (ADR 66). */
export function eventCopy(event: SessionEvent): SessionEvent {
  return event.type === 'model.delta' ? { ...event } : ownCopy(event);
}
