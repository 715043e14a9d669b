import type { Allowance, Json } from '../../../machines/index.ts';
import type { ScopeLog } from '../../journal/scope-log.ts';
import type { Session } from '../session.ts';
import type { Wired } from '../wiring.ts';

/** A session's place in the tree of sub-agents. */
export type Lineage = {
  parentSessionId: string | null;
  /** 1 for the root session. */
  depth: number;
  maxDepth: number;
  /** The secrets of the sessions above, since a task or a report may repeat them (S-5). */
  secrets: readonly string[];
};

/** The lineage of a session without a parent. */
export const root: Lineage = { parentSessionId: null, depth: 1, maxDepth: Number.POSITIVE_INFINITY, secrets: [] };

/** What a client-side tool returned, or how it failed. */
export type ClientAnswer = { output: Json; isError: boolean };

/** A session of the tree, as the sessions above use it. */
export type SubSession = Session & {
  readonly log: ScopeLog | null;
  readonly wired: Wired;
  /** This session, and those below that have not ended. */
  tree(): SubSession[];
  decide(callId: string, approved: boolean, reason: string | null): boolean;
  /** Answers a call of a client-side tool. */
  take(callId: string, answer: ClientAnswer): boolean;
  /** Begins, delivers and accepts nothing more. */
  retire(): void;
  /** Goes on after a replay. */
  goOn(): void;
};

/** The calls of a session that wait for approval or an answer, without those of its sub-agents. */
export function waitingIn({ wired }: SubSession): string[] {
  const { approvals, clientCalls } = wired.observer.folds;
  return [...approvals.waiting, ...clientCalls.waiting];
}

/** A sub-agent, from its start until its end is reported. */
export type Child = { name: string; callId: string; grant: Allowance; session: SubSession; abort: AbortController };
