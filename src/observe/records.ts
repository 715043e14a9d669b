import type {
  Fact,
  Fault,
  Json,
  Reply,
  ReportSource,
  Slug,
  ToolOutput,
  ToolResult,
  Usage,
} from '../../machines/index.ts';
import { byteLength } from '../platform/bytes.ts';
import type { Fold, Sighting } from './events.ts';

/** The record of one turn in the result, with the details for operators. Times are epoch ms. */
export type TurnRecord = {
  turn: number;
  isLastTurn: boolean;
  status: 'running' | 'finished' | 'progressed' | 'exhausted' | 'aborted';
  attempts: AttemptRecord[];
};

export type AttemptRecord = {
  attempt: number;
  target: string;
  status: 'running' | 'finished' | 'progressed' | 'failed' | 'aborted';
  slugs: Slug[];
  notice: string | null;
  reply: Reply | null;
  fault: Fault | null;
  usage: Usage | null;
  costUsd: number | null;
  calls: CallRecord[];
  startedAt: number;
  endedAt: number | null;
};

export type CallRecord = {
  index: number;
  callId: string;
  name: string;
  executed: boolean;
  slug: Slug | null;
  result: ToolResult;
  output: ToolOutput;
  /** When its tool began, or began to wait for a free slot; null for a call that needed no tool of ours. */
  startedAt: number | null;
  /** From `startedAt` to the answer, in ms. */
  durationMs: number | null;
  /** UTF-8 bytes of `output`. */
  bytes: number;
  /** What a sub-agent cost, with those below it, in US dollars; null without prices. 0 for every other tool. */
  costUsd: number | null;
};

export type AcceptedContent = { source: ReportSource; content: Json };

/** A session's turn records and accepted report, folded over its facts. */
export class Records implements Fold {
  readonly turns: TurnRecord[] = [];
  accepted: AcceptedContent | null = null;
  /** An abort is final: nothing clears this. */
  private isAborting = false;
  /** By call id, for each tool that began in the current attempt: when it began, and what its sub-agent cost. */
  private readonly begun = new Map<string, Pick<CallRecord, 'costUsd'> & { startedAt: number }>();

  /** Whether another request may follow: nothing ended the session, and the turn can continue or another can begin. */
  get mayRequest(): boolean {
    const { status, isLastTurn } = this.turns.at(-1) ?? { status: 'running', isLastTurn: false };
    return (
      !this.isAborting && this.accepted === null && (status === 'running' || (status === 'progressed' && !isLastTurn))
    );
  }

  fact(fact: Fact, at: number): void {
    switch (fact.type) {
      case 'turn.started':
        this.turns.push({ turn: fact.turn, isLastTurn: fact.isLastTurn, status: 'running', attempts: [] });
        return;
      case 'turn.finished':
      case 'turn.progressed':
      case 'turn.exhausted':
      case 'turn.aborted': {
        const record = this.turns.at(-1);
        if (record !== undefined) record.status = endOf(fact.type);
        return;
      }
      case 'attempt.started':
        this.begun.clear();
        this.turns.at(-1)?.attempts.push({
          attempt: fact.attempt,
          target: fact.target,
          status: 'running',
          slugs: [],
          notice: fact.notice,
          reply: null,
          fault: null,
          usage: null,
          costUsd: null,
          calls: [],
          startedAt: at,
          endedAt: null,
        });
        return;
      case 'attempt.replied': {
        const record = this.attempt();
        if (record === undefined) return;
        const { reply, fault, usage, costUsd } = fact;
        Object.assign(record, { reply, fault, usage, costUsd });
        return;
      }
      case 'tool.started':
        this.begun.set(fact.callId, { startedAt: at, costUsd: 0 });
        return;
      case 'tool.answered': {
        const { index, callId, name, executed, slug, result, output } = fact;
        const { startedAt, costUsd } = this.begun.get(callId) ?? { startedAt: null, costUsd: 0 };
        const durationMs = startedAt === null ? null : Math.max(0, at - startedAt);
        const times = { startedAt, durationMs, bytes: bytesOf(output), costUsd };
        const calls = this.attempt()?.calls;
        if (calls !== undefined) calls[index] = { index, callId, name, executed, slug, result, output, ...times };
        return;
      }
      case 'attempt.failed':
      case 'attempt.finished':
      case 'attempt.progressed':
      case 'attempt.aborted': {
        const record = this.attempt();
        if (record === undefined) return;
        record.status = endOf(fact.type);
        record.endedAt = at;
        if (fact.type === 'attempt.failed') record.slugs = fact.slugs;
        return;
      }
      case 'session.aborting':
        this.isAborting = true;
        return;
      case 'report.accepted':
        this.accepted = { source: fact.source, content: fact.content };
        return;
      default:
        return;
    }
  }

  sighting(sighting: Sighting): void {
    if (sighting.type !== 'subAgent.ended') return;
    const call = this.begun.get(sighting.callId);
    if (call !== undefined) call.costUsd = sighting.counters.tree.costUsd;
  }

  attempt(): AttemptRecord | undefined {
    return this.turns.at(-1)?.attempts.at(-1);
  }
}

/** Returns the size of an answer: of its texts as they are, and of files as they are encoded. */
function bytesOf(output: ToolOutput): number {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return byteLength(output.value);
    case 'execution-denied':
      return byteLength(output.reason ?? '');
    default:
      return byteLength(JSON.stringify(output.value));
  }
}

function endOf<E extends string>(type: `${'turn' | 'attempt'}.${E}`): E {
  return type.slice(type.indexOf('.') + 1) as E;
}
