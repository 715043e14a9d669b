import type { Counters, Failure, FilePart, Message, Slug } from '../../machines/index.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { TurnRecord } from '../observe/records.ts';
import type { Metadata } from '../vocabulary/metadata.ts';
import type { UndoableCall } from './undoable.ts';

/** The report that the agent delivered. */
export type AcceptedReport<Report> = {
  source: 'tool_call' | 'text_fallback';
  format: string;
  content: Report;
  accepted: true;
  /** The files of the accepted reply, such as images, if it held any. */
  files?: readonly FilePart[];
};

/** The report that Pawl writes for a session that did not succeed. */
export type SyntheticReport = { source: 'synthetic'; format: string; content: string; accepted: false };

/** The report that every session ends with (F-5). */
export type SessionReport<Report> = AcceptedReport<Report> | SyntheticReport;

/** The account of a session. `success` tells its two kinds apart, for the type checker too. */
export type SessionResult<Report = unknown> = {
  sessionId: string;
  agent: string;
  /** What the session was given as its `metadata`. */
  metadata: Metadata;
  /** Why the session did not succeed, the deciding reason first; empty on success. */
  slugs: Slug[];
  counters: Counters;
  conversation: Message[];
  /** The agent that the conversation was handed to last, by its name in `handoffs` (T-8); null if it was not. */
  handedTo: string | null;
  turns: TurnRecord[];
  slices: Record<string, unknown>;
} & (
  | { success: true; status: 'succeeded'; report: AcceptedReport<Report>; failure?: never; undoable?: never }
  | {
      success: false;
      /** `suspended`: the session has not ended, and can be resumed from its journal. */
      status: 'failed' | 'aborted' | 'suspended';
      report: SyntheticReport;
      failure: Failure;
      /** What its calls did and their tools can take back, the last call first; not those of sub-agents (D-7c). */
      undoable: UndoableCall[];
    }
);

export type SuspendOptions = { graceMs?: number };

/** `isError`: the tool failed, and the output says how. `sessionId`: see `approve`. */
export type AnswerOptions = { isError?: boolean; sessionId?: string };

/** `input`: the input as it was shown; a call with another one is not decided (D-7). `sessionId`: see `approve`. */
export type ApprovalInput = { approved: boolean; reason?: string; input?: unknown; sessionId?: string };

export type Session<Report = unknown> = {
  readonly sessionId: string;
  /** All events, from the first, for each reader at its own pace (S-6). */
  readonly events: AsyncIterable<SessionEvent>;
  /** The events from position `seq` (see `SessionEvent`), such as the one after the last that a page has seen. */
  eventsFrom(seq: number): AsyncIterable<SessionEvent>;
  /** Never rejects (F-5). */
  readonly result: Promise<SessionResult<Report>>;
  /** A copy of the counters as they are now, with what running sub-agents have spent so far (S-4). */
  readonly counters: Readonly<Counters>;
  /**
   * Adds a user message to the next request and to the conversation. Returns false, and adds nothing,
   * once what has happened leaves no request to carry it: a report is accepted, the last turn is over, the session is
   * aborted or has ended. A message that was taken and that no request carried stands in the conversation.
   */
  steer(text: string): boolean;
  /**
   * Compacts the conversation before the next turn, however full its window is, as the agent's `compact` says (T-9). Returns
   * false if the session has ended. Throws `invalid_options` for an agent without `compact`.
   */
  compact(): boolean;
  /** Lets running work finish, then asks for the report on the next turn. */
  stop(): void;
  /** Ends the session now. Every call received so far is answered. */
  abort(reason?: string): void;
  /**
   * Decides a call that awaits approval, here or in a sub-agent. Returns false if no call matches, or several do: Pawl
   * makes call ids if a model sends none, so sub-agents may share one. Then also pass the event's `sessionId`.
   */
  approve(callId: string, decision: ApprovalInput): boolean;
  /**
   * Answers a call of a client-side tool (one without `execute`), which the event `tool.handedOut` named, with JSON; or
   * the question of an MCP server, which `tool.asked` named, with an object of its schema. Returns
   * false if no such call waits, here or in a sub-agent, or several do (see `approve`).
   */
  answer(callId: string, output: unknown, options?: AnswerOptions): boolean;
  /**
   * Stops running a session with a journal, so that another process can resume it at once: begins nothing more, waits
   * until the running requests and tools have ended, writes all down and gives back the lease. What still runs after
   * `graceMs` (default: 10,000; on the clock of the session) counts as interrupted (D-4). `result` then has the status
   * `suspended`.
   */
  suspend(options?: SuspendOptions): Promise<void>;
};
