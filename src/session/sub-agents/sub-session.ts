import type { Allowance, Json } from '../../../machines/index.ts';
import type { WaitingCall } from '../../journal/journal.ts';
import type { ScopeLog } from '../../journal/scope-log.ts';
import type { SessionLife } from '../recovery/life.ts';
import type { Session } from '../session.ts';

/** A decision on a call; `input` is what was shown of it, or null if the decision does not say (D-7). */
export type GivenDecision = { approved: boolean; reason: string | null; input: Json | null };

/** What a client-side tool returned, or how it failed. */
export type ClientAnswer = { output: Json; isError: boolean };

/** A session of the tree, as the sessions above use it. */
export type SubSession = Pick<Session, 'sessionId' | 'result' | 'counters' | 'stop'> & {
  readonly log: ScopeLog | null;
  readonly life: SessionLife;
  /** This session, and those below that have not ended. */
  tree(): SubSession[];
  /** Its own calls that wait, without those of its sub-agents. */
  waiting(): WaitingCall[];
  decide(callId: string, decision: GivenDecision): boolean;
  /** Answers a call of a client-side tool. */
  answerCall(callId: string, answer: ClientAnswer): boolean;
  /** Goes on after a replay. */
  goOn(): void;
};

/** A sub-agent, from its start until its end is reported. */
export type Child = { name: string; callId: string; grant: Allowance; session: SubSession; abort: AbortController };
