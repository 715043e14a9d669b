import type { Counters, Fact, JsonObject, Repairs, ToolOutput } from '../../machines/index.ts';

/** An observation that is not a fact of the machines. It affects no decision; a replay does not need it. */
export type Sighting =
  /** A piece of a streamed reply. */
  | {
      type: 'model.delta';
      turn: number;
      attempt: number;
      kind: 'text' | 'reasoning' | 'tool-input';
      /** The tool called, for `tool-input`; otherwise null. */
      toolName: string | null;
      delta: string;
    }
  /** A tool sent output before it finished. */
  | { type: 'tool.progressed'; callId: string; name: string; output: ToolOutput }
  /** Malformed input messages were repaired (C-6). */
  | { type: 'conversation.repaired'; repairs: Repairs }
  /** A sub-agent's session started or ended (B-7). Its own events carry its path. */
  | { type: 'subAgent.started'; callId: string; name: string; childSessionId: string }
  | {
      type: 'subAgent.ended';
      callId: string;
      name: string;
      childSessionId: string;
      status: 'succeeded' | 'failed' | 'aborted';
      counters: Counters;
    }
  /** An MCP server connected, was lost or changed its list of tools, or an optional one is unavailable. */
  | { type: 'server.connected'; server: string; tools: string[] }
  | { type: 'server.lost'; server: string; message: string }
  | { type: 'server.unavailable'; server: string; message: string }
  | { type: 'server.toolsChanged'; server: string; tools: string[] }
  /** A provider's warning, such as an ignored setting; each is reported once. */
  | { type: 'model.warned'; target: string; warning: string }
  /** A result for a settled effect was dropped (D-2). */
  | { type: 'effect.late'; key: string }
  /** A user's observer threw. This is reported once, and a slice is not called again. */
  | { type: 'observer.failed'; observer: string; message: string }
  /** Events that were not read in time were dropped, oldest first. */
  | { type: 'events.dropped'; count: number };

export type Envelope = {
  sessionId: string;
  agent: string;
  /** Epoch ms. */
  at: number;
  /** The sub-agents from the stream's session down to the event's; empty for the session's own events. */
  path: readonly string[];
};

/** Adds the call's input to the events of a new call, because an approver needs it. */
type WithInput<F> = F extends { type: 'tool.requested' | 'tool.approvalRequested' } ? F & { input: JsonObject } : F;

/** An event of the stream, `onEvent` and the slices. */
export type SessionEvent = (WithInput<Fact> | Sighting) & Envelope;

export type EventListener = (event: SessionEvent) => unknown;

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
};
