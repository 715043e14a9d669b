import type { Counters, Fact, Message } from '../../../machines/index.ts';
import { PawlError } from '../../errors.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import { type Difference, Replay } from '../../journal/replay.ts';
import { scopeOf } from '../../journal/scope-log.ts';
import type { OfferedTool } from '../../model/request-model.ts';
import type { SessionEvent } from '../../observe/events.ts';
import type { TurnRecord } from '../../observe/records.ts';
import { RecordedPlayer } from './recorded-player.ts';

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
  tools: readonly OfferedTool[];
};

/** One step of the machines: the start, or a delivery with what followed. */
export type ReplayStep = {
  /** The number of the journal's entry, from 1. */
  entry: number;
  sessionId: string;
  /** The key of the effect that ended, or the command; `start` for the first step of a session. */
  cause: string;
  facts: Fact[];
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
  /** Where these machines took another way than those that recorded the session; null if they did not. */
  difference: Difference | null;
};

/** Plays a session's entries, up to some number of them, and notes what they tell. */
export class Recording {
  private readonly entries: readonly JournalEntry[];
  private readonly upTo: number;
  private readonly tools = new Map<number, readonly OfferedTool[]>();
  private readonly causes = new Map<string, string[]>();
  private readonly steps: ReplayStep[] = [];
  private readonly requests: SentRequest[] = [];
  private readonly replay: Replay<RecordedPlayer>;

  constructor(entries: readonly JournalEntry[], upTo: number, secrets: readonly string[]) {
    this.entries = entries;
    this.upTo = upTo;
    this.replay = new Replay((head, above, beforeFact) => {
      this.causes.set(scopeOf(head), ['start']);
      return new RecordedPlayer(head, above, beforeFact, secrets);
    });
  }

  played(): ReplayedSession {
    const difference = this.replay.play(this.entries.slice(0, this.upTo), (entry, facts) => this.note(entry, facts));
    const { root } = this.replay;
    if (difference === null) this.noteRequestAt(root.pending.map(({ key }) => key));
    const { head, observer, pending, states } = root;
    const { conversation, records, stream } = observer.folds;
    return {
      sessionId: head.sessionId,
      agent: head.agent,
      steps: this.steps,
      requests: this.requests,
      events: stream.held,
      counters: observer.counters,
      conversation: conversation.messages,
      turns: records.turns,
      states,
      pending: pending.map(({ key }) => key),
      difference,
    };
  }

  private note(entry: JournalEntry, facts: Fact[] | null): void {
    if (entry.type === 'offered') this.tools.set(entry.number, entry.tools);
    if (entry.type === 'delivered') this.causes.get(entry.scope)?.push(causeOf(entry));
    if (entry.type === 'stepped' && facts !== null) {
      const cause = this.causes.get(entry.scope)?.shift() ?? '';
      const { sessionId } = this.playerOf(entry.scope).head;
      this.steps.push({ entry: this.replay.entry, sessionId, cause, facts });
    }
    if (entry.type === 'sent') this.requests.push(this.requestOf(entry));
  }

  /** The request of the attempt at which the replay stops was written down after its step. */
  private noteRequestAt(pending: readonly string[]): void {
    for (const entry of this.entries.slice(this.upTo)) {
      if (entry.type === 'offered') this.note(entry, null);
      const isIts = entry.type === 'sent' && pending.includes(`turn-${entry.turn}/attempt-${entry.attempt}/model`);
      if (!isIts || entry.scope !== '') continue;
      this.note(entry, null);
      return;
    }
  }

  private requestOf({ scope, turn, attempt, provider, messages, tools }: Extract<JournalEntry, { type: 'sent' }>) {
    const { head, observer, pending } = this.playerOf(scope);
    const { conversation } = observer.folds;
    const effect = pending.find((one) => one.kind === 'model');
    const { notice, omit } = effect?.kind === 'model' ? effect.request : { notice: null, omit: [] };
    return {
      sessionId: head.sessionId,
      turn,
      attempt,
      provider,
      instructions: conversation.instructions,
      messages: conversation.messages.slice(0, messages),
      notice,
      omitted: omit,
      tools: tools === null ? [] : (this.tools.get(tools) ?? []),
    };
  }

  private playerOf(scope: string): RecordedPlayer {
    const player = this.replay.players.get(scope);
    if (player === undefined) throw new PawlError('invalid_journal', `The session "${scope}" did not start.`);
    return player;
  }
}

function causeOf({ delivery }: Extract<JournalEntry, { type: 'delivered' }>): string {
  return 'event' in delivery ? delivery.event.type : delivery.key;
}
