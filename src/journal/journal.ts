import type {
  Allowance,
  Delivery,
  Json,
  Message,
  SessionCommand,
  SessionInput,
  Slug,
  WorkflowAbort,
  WorkflowInput,
} from '../../machines/index.ts';
import type { Sighting } from '../observe/events.ts';
import type { BudgetStore } from '../shared/budget-store.ts';
import type { GateStore } from '../shared/gate-store.ts';
import type { Metadata } from '../vocabulary/metadata.ts';
import type { OfferedTool } from '../vocabulary/offered-tool.ts';
import type { SessionOverrides } from '../vocabulary/overrides.ts';
import type { StoredFact } from './replay/stored-facts.ts';

/** The format of the entries. A journal of another format is refused by its number. */
export const journalFormat = 5;

/** What a session begins with: all that its machines, and the folds over their facts, need (D-3). */
export type SessionHead = {
  format: number;
  /** The version of the machines that began it, to be read by people. */
  machines: string;
  sessionId: string;
  agent: string;
  /** For a sub-agent: its parent's scope, the call that started it, the tool's name and what it was granted (B-7). */
  call: { parent: string; callId: string; name: string; granted: Allowance } | null;
  input: SessionInput;
  /** The task; null if only messages were given. It is also the last of the messages. */
  prompt: string | null;
  messages: Message[];
  /** What the session set for itself; null if nothing. */
  overrides: SessionOverrides | null;
  metadata: Metadata;
  /** What a resumed session must find again: the report's format, and the names of tools, sub-agents and MCP servers. */
  report: string;
  tools: string[];
  servers: string[];
  /** Maximum bytes of a result that the model reads at once. */
  resultBytes: number;
  /** For a session of a chat: the one that it continues, or null, and how many of its messages the user added. */
  chat?: { after: string | null; added: number };
  /** The shared budget that it draws on, with its limits as they were (B-8). */
  sharedBudget?: { name: string; limits: Allowance };
  /** For a fork: the session that it left, and how many of its entries are copies. */
  fork?: { of: string; entries: number };
};

/** What a workflow run begins with: all that its machine needs. `at` is epoch ms. */
export type RunHead = { format: number; machines: string; sessionId: string; input: WorkflowInput; at: number };

/**
 * An entry of a session's journal, as JSON. The sub-agents of a session share its journal: `scope` is the path of call
 * ids from the session down, empty for the session's own entries. `seq` is the position in the session's event stream
 * before what the entry tells.
 */
export type JournalEntry = { scope: string } & (
  | { type: 'started'; head: SessionHead }
  /** The mark before an effect begins (D-3). */
  | { type: 'begun'; key: string; at: number }
  /** A list of tools, before it is first offered; requests name it by its number. */
  | { type: 'offered'; number: number; tools: readonly OfferedTool[] }
  /**
   * A request, as it goes out, by reference: the first `messages` of the conversation, without the results that the
   * effect's request omits, and the list of tools with the number `tools`; null for none. `marks` counts its cache marks
   * (N-3).
   */
  | {
      type: 'sent';
      turn: number;
      attempt: number;
      provider: string;
      messages: number;
      tools: number | null;
      marks: number;
    }
  | { type: 'delivered'; delivery: Delivery }
  /**
   * The facts that followed from the start, or from the next delivery. What was sighted among them comes after this entry;
   * its `seq` is before `end`.
   */
  | { type: 'stepped'; seq: number; end: number; facts: readonly StoredFact[] }
  /** An observation that is not a fact. Adjacent deltas of a part are one. */
  | ({ type: 'sighted' } & Sighted)
  /**
   * The start of a workflow run, in a journal of its own, and what its machine got: to be looked at, not resumed (S-8). Its
   * steps are entries like those of a session.
   */
  | { type: 'run'; head: RunHead }
  | { type: 'run.delivered'; delivery: Delivery<WorkflowAbort> }
);

export type SessionStatus = 'running' | 'suspended' | 'succeeded' | 'failed' | 'aborted';

/** Whether a session has ended, and so is not to be resumed. */
export function isEnded(status: SessionStatus): status is Exclude<SessionStatus, 'running' | 'suspended'> {
  return status !== 'running' && status !== 'suspended';
}

/** A sighting as it is noted: `seq` is the position in the event stream before it, `at` its time (epoch ms). */
export type Sighted = { seq: number; at: number; sighting: Sighting };

/** A call that waits for a person's approval, or for the answer of a client. `sessionId`: that of the tree that made it. */
export type WaitingCall = { sessionId: string; callId: string; awaits: 'approval' | 'answer' };

/** A session in a journal. `suspended`: it has not ended, and no process runs it now. Times are epoch ms. */
export type JournaledSession = {
  sessionId: string;
  agent: string;
  metadata: Metadata;
  status: SessionStatus;
  /** Why it did not succeed; empty until it has ended. */
  slugs: Slug[];
  /** The ids of `waitingCalls`. */
  waiting: string[];
  /** The calls that wait, and that no message of the inbox decides. */
  waitingCalls: WaitingCall[];
  createdAt: number;
  updatedAt: number;
  /** The number of entries. */
  entries: number;
};

/** Which sessions to list; all fields must match. `since`: updated at this time (epoch ms) or later. */
export type SessionQuery = {
  sessionId?: string;
  /** What the id begins with. */
  idPrefix?: string;
  status?: SessionStatus;
  agent?: string;
  slug?: Slug;
  since?: number;
  /** Every one of these has this value in the session's metadata. */
  metadata?: Metadata;
};

/** What an append changes in the session's row. */
export type SessionChange = {
  status?: 'succeeded' | 'failed' | 'aborted';
  slugs?: Slug[];
  waitingCalls?: WaitingCall[];
};

/**
 * A message to a session, from any process. `sessionId`: which session of the tree made the call; null: the only one.
 * `input`: that of the call as it was shown; one with another input is not decided (D-7).
 */
export type SessionMessage =
  // The gates of one process are no other's.
  | Exclude<SessionCommand, { type: 'session.gated' }>
  | {
      type: 'approve';
      callId: string;
      approved: boolean;
      reason: string | null;
      sessionId: string | null;
      input?: Json;
    }
  | { type: 'answer'; callId: string; output: Json; isError: boolean; sessionId: string | null };

export type Append = {
  /** The process that appends; it must hold the lease. */
  owner: string;
  /** The number of entries before these. */
  after: number;
  entries: readonly JournalEntry[];
  change?: SessionChange;
  /** The messages that these entries took in; they are removed from the inbox. */
  taken?: readonly number[];
};

/**
 * Where sessions are journaled. A session has one owner at a time, who holds its lease: to write, a process takes the
 * lease, and every append renews it. All methods reject with `PawlError('journal_failed')` if the store does not answer.
 */
export type Journal = {
  /** How long a lease lasts, in ms. */
  readonly leaseMs: number;
  /** Registers a session with its first entries, and takes its lease. Rejects with `session_exists`. */
  create(
    session: Pick<JournaledSession, 'sessionId' | 'agent' | 'metadata'>,
    append: Omit<Append, 'after'>,
  ): Promise<void>;
  /**
   * Appends entries, all or none, and resolves when they are durable. Rejects with `session_taken`, and writes nothing,
   * unless `owner` holds the lease and the journal has exactly `after` entries.
   */
  append(sessionId: string, append: Append): Promise<void>;
  /**
   * Called with each entry as it is noted, before it is written; a store does not need it. A write may omit entries that
   * later ones replace. Must not throw.
   */
  noted?(sessionId: string, entry: JournalEntry): void;
  /** Returns a session's entries in order, skipping the first `after` (default: 0); empty for an unknown session. */
  read(sessionId: string, after?: number): Promise<JournalEntry[]>;
  /** Takes the lease. Returns false if another process holds it, or there is no such session. */
  lease(sessionId: string, owner: string): Promise<boolean>;
  /** Renews the lease. Returns false unless `owner` was the last to take it, and has not given it back. */
  renew(sessionId: string, owner: string): Promise<boolean>;
  /** Gives the lease back, if `owner` holds it. */
  release(sessionId: string, owner: string): Promise<void>;
  /**
   * Leaves a message for the session's owner. Returns false for an unknown or ended session, and for a decision
   * (`callDecidedBy`) whose call does not wait, or which a message of the inbox decides already.
   */
  post(sessionId: string, message: SessionMessage): Promise<boolean>;
  /** Returns the messages that are still to be taken, in order. */
  inbox(sessionId: string): Promise<{ id: number; message: SessionMessage }[]>;
  /** Returns the sessions that match, the latest updated first. */
  list(query: SessionQuery): Promise<JournaledSession[]>;
  /** Deletes a session. Returns false for an unknown one. Rejects with `session_taken` while a process runs it. */
  delete(sessionId: string): Promise<boolean>;
  /** Closes the store. Sessions that still run fail to write. */
  close(): Promise<void>;
  /** Where it keeps budgets that sessions share (B-8); a journal without it keeps none. */
  readonly budgets?: BudgetStore;
  /** Where it keeps gates that processes share (P-7g); a journal without it keeps none. */
  readonly gates?: GateStore;
  /** Whether it was closed, so that sessions which wait end as suspended. Without it, they end at their next write. */
  readonly isClosed?: boolean;
};

/** The call that a message decides; null if it decides none, or does not name its session. */
export function callDecidedBy(message: SessionMessage): WaitingCall | null {
  if (message?.type !== 'approve' && message?.type !== 'answer') return null;
  const { sessionId, callId, type } = message;
  return sessionId === null ? null : { sessionId, callId, awaits: type === 'approve' ? 'approval' : 'answer' };
}

/** Whether a message may be left: it decides no call, or one that waits. */
export function maySay(message: SessionMessage, waitingCalls: readonly WaitingCall[]): boolean {
  const call = callDecidedBy(message);
  return call === null || waitingCalls.some((one) => callText(one) === callText(call));
}

/** What a row says of the calls that its session waits for, but for those that messages decide. */
export function undecided(
  calls: readonly WaitingCall[],
  messages: readonly SessionMessage[],
): Pick<JournaledSession, 'waiting' | 'waitingCalls'> {
  const decided = new Set(messages.map(callDecidedBy).map((call) => call && callText(call)));
  const waitingCalls = calls.filter((call) => !decided.has(callText(call)));
  return { waiting: waitingCalls.map(({ callId }) => callId), waitingCalls };
}

/** A text for each call: whoever compares calls compares these. */
export function callText({ sessionId, callId, awaits }: WaitingCall): string {
  return JSON.stringify({ sessionId, callId, awaits });
}

/** Whether a listed session matches what a store does not ask its tables for. */
export function matchesQuery({ status, slugs, metadata }: JournaledSession, query: SessionQuery): boolean {
  if (query.status !== undefined && status !== query.status) return false;
  if (query.slug !== undefined && !slugs.includes(query.slug)) return false;
  return Object.entries(query.metadata ?? {}).every(([name, value]) => metadata[name] === value);
}

/**
 * Whether a lease holds, by what is left of it and by how long it was taken for, in ms. With more than twice its length left
 * it does not: the clock was set back, and would lock the session. A smaller difference may be a clock that is corrected.
 */
export function isLeaseHeld(leftMs: number, leaseMs: number): boolean {
  return leftMs > 0 && leftMs <= 2 * leaseMs;
}

/** Gives a session back. If the journal does not take it, its lease runs out by itself, so that is no error. */
export async function giveBack(journal: Journal, sessionId: string, owner: string): Promise<void> {
  try {
    await journal.release(sessionId, owner);
  } catch {}
}
