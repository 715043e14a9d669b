import type { Counters, Fact, Message } from '../../../machines/index.ts';
import type { Difference } from '../../journal/replay/replay.ts';
import type { SessionEvent } from '../../observe/events.ts';
import type { TurnRecord } from '../../observe/records.ts';
import type { OfferedTool } from '../../vocabulary/offered-tool.ts';

/** A request as it was sent: its messages are the first of the session's conversation, so each is held once. */
export type SentRequest = {
  sessionId: string;
  turn: number;
  attempt: number;
  provider: string;
  instructions: string | null;
  messages: readonly Message[];
  /** The system notice at its end; null if there was none (N-1). */
  notice: string | null;
  /** Ids of the calls whose results were left out (T-6). */
  omitted: readonly string[];
  /** Estimated tokens of old text that were left out (T-6). */
  omittedText: number;
  tools: readonly OfferedTool[];
  /** How many cache marks it carried (N-3). */
  marks: number;
};

/** One step of the machines: the start, or a delivery with what followed. */
export type ReplayStep = {
  /** The number of the journal's entry, from 1. */
  entry: number;
  sessionId: string;
  /** The key of the effect that ended, or the command; `start` for the first step of a session. */
  cause: string;
  facts: readonly Fact[];
};

/** A session as its journal tells it, as far as it was played. */
export type ReplayedSession = {
  sessionId: string;
  agent: string;
  steps: ReplayStep[];
  requests: SentRequest[];
  /** The events, with their positions; those of sub-agents with their path. */
  events: readonly SessionEvent[];
  counters: Counters;
  conversation: readonly Message[];
  turns: readonly TurnRecord[];
  /** The active states of the machines, from the session down. */
  states: string[];
  /** The keys of the effects that have not ended. */
  pending: string[];
  /**
   * Where these machines took another way than those that recorded the session; null if they did not. What followed is told
   * as it was recorded, without states.
   */
  difference: Difference | null;
};
