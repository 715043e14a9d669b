import type { DeepPartial, InferUIMessageChunk, UIMessage, UITools } from 'ai';
import type { ReportSource, Slug, Usage } from '../../machines/index.ts';
import type { AttemptRecord, TurnRecord } from '../observe/records.ts';

/** What a message tells of its session: `message.metadata`. */
export type UIMetadata = {
  sessionId: string;
  agent: string;
  /** `waiting`: nothing runs until a person has decided the calls that ask for it. */
  status: 'running' | 'waiting' | 'succeeded' | 'failed' | 'aborted' | 'suspended';
  /** The position of the last event that the message holds, for `from`. */
  seq: number;
  /** Why the session did not succeed, the deciding reason first. */
  slugs: Slug[];
  /** What the session's own requests took so far. */
  requests: number;
  usage: Usage;
  /** Null if no price is known. */
  costUsd: number | null;
};

/** A turn with its attempts: the part `data-turn`, before the parts of its reply. Its id is `turn-N`. */
export type TurnData = Pick<TurnRecord, 'turn' | 'isLastTurn' | 'status'> & {
  attempts: Pick<AttemptRecord, 'attempt' | 'target' | 'status' | 'slugs' | 'notice' | 'usage' | 'costUsd'>[];
};

/** The report of a turn as it grows, and what became of it: the part `data-report`. Its id is `report-N`. */
export type ReportData<Report> =
  | { state: 'partial'; content: DeepPartial<Report> }
  | { state: 'rejected' }
  | { state: 'accepted'; content: Report; source: ReportSource };

/** The data parts of a message. */
export type UIData<Report = unknown> = {
  turn: TurnData;
  report: ReportData<Report>;
  /** What the tool `progress_report` said. */
  progress: { message: string };
  /** What `session.steer` added. */
  steering: { text: string };
};

/** The message of a session on a page, for `useChat<PawlUIMessage<Report>>`. Its id is the session's. */
export type PawlUIMessage<Report = unknown, Tools extends UITools = UITools> = UIMessage<
  UIMetadata,
  UIData<Report>,
  Tools
>;

export type UIChunk<Report = unknown> = InferUIMessageChunk<PawlUIMessage<Report>>;
