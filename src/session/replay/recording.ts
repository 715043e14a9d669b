import type { Fact } from '../../../machines/index.ts';
import { modelKey } from '../../../machines/index.ts';
import { PawlError } from '../../input/errors.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import { type Difference, Replay } from '../../journal/replay.ts';
import { scopeOf } from '../../journal/scope-log.ts';
import type { SessionEvent } from '../../observe/events.ts';
import type { OfferedTool } from '../../vocabulary/offered-tool.ts';
import { type Follower, OfflinePlayer } from './offline-player.ts';
import type { ReplayedSession, ReplayStep, SentRequest } from './replayed.ts';

/** Plays a session's entries, and notes what they tell. */
export class Recording {
  private readonly tools = new Map<number, readonly OfferedTool[]>();
  private readonly causes = new Map<string, string[]>();
  private readonly steps: ReplayStep[] = [];
  readonly requests: SentRequest[] = [];
  private readonly replay: Replay<OfflinePlayer>;

  /** Where the machines took another way. */
  difference: Difference | null = null;

  /** `secrets` are taken out of the events. A `follower` sees more than the steps. */
  constructor(secrets: readonly string[], follower: Follower | null = null) {
    this.replay = new Replay((head, above, beforeFact) => {
      this.causes.set(scopeOf(head), ['start']);
      return new OfflinePlayer(head, above, beforeFact, { secrets, follower });
    });
  }

  /** Plays the entries that follow. After a difference, nothing more is played. */
  play(entries: readonly JournalEntry[], onEntry: (entry: JournalEntry) => void = () => {}): void {
    if (this.difference !== null) return;
    this.difference = this.replay.play(entries, (entry, facts) => {
      this.note(entry, facts);
      onEntry(entry);
    });
  }

  /** Does as `play` does; the event loop has its turn between the steps. */
  async playInTurns(entries: readonly JournalEntry[]): Promise<void> {
    if (this.difference !== null) return;
    this.difference = await this.replay.playInTurns(entries, (entry, facts) => this.note(entry, facts));
  }

  /** The events of the whole tree so far. */
  get events(): readonly SessionEvent[] {
    return this.replay.root.observer.folds.stream.all();
  }

  /** The number of the entry that is played, from 1. */
  get entry(): number {
    return this.replay.entry;
  }

  /** The session as far as it was played; `rest` are the entries that were not. */
  played(rest: readonly JournalEntry[] = []): ReplayedSession {
    const { difference } = this;
    const { root } = this.replay;
    if (difference === null)
      this.noteRequestAt(
        root.pending.map(({ key }) => key),
        rest,
      );
    const { head, observer, pending, states } = root;
    const { conversation, records } = observer.folds;
    return {
      sessionId: head.sessionId,
      agent: head.agent,
      steps: this.steps,
      requests: this.requests,
      events: this.events,
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
    if (facts !== null) {
      const cause = this.causes.get(entry.scope)?.shift() ?? '';
      const { sessionId } = this.playerOf(entry.scope).head;
      this.steps.push({ entry: this.replay.entry, sessionId, cause, facts });
    }
    if (entry.type === 'sent') this.requests.push(this.requestOf(entry));
  }

  /** The request of the attempt at which the replay stops was written down after its step. */
  private noteRequestAt(pending: readonly string[], rest: readonly JournalEntry[]): void {
    for (const entry of rest) {
      if (entry.type === 'offered') this.note(entry, null);
      const isIts = entry.type === 'sent' && pending.includes(modelKey(entry));
      if (!isIts || entry.scope !== '') continue;
      this.note(entry, null);
      return;
    }
  }

  private requestOf({
    scope,
    turn,
    attempt,
    provider,
    messages,
    tools,
    marks,
  }: Extract<JournalEntry, { type: 'sent' }>) {
    const { head, observer, pending } = this.playerOf(scope);
    const { conversation } = observer.folds;
    const effect = pending.find((one) => one.kind === 'model');
    const nothing = { notice: null, omit: [], omitText: 0 };
    const { notice, omit, omitText } = effect?.kind === 'model' ? effect.request : nothing;
    return {
      sessionId: head.sessionId,
      turn,
      attempt,
      provider,
      instructions: conversation.instructions,
      messages: conversation.messages.slice(0, messages),
      notice,
      omitted: omit,
      omittedText: omitText,
      marks,
      tools: tools === null ? [] : (this.tools.get(tools) ?? []),
    };
  }

  private playerOf(scope: string): OfflinePlayer {
    const player = this.replay.players.get(scope);
    if (player === undefined) throw new PawlError('invalid_journal', `The session "${scope}" did not start.`);
    return player;
  }
}

function causeOf({ delivery }: Extract<JournalEntry, { type: 'delivered' }>): string {
  return 'event' in delivery ? delivery.event.type : delivery.key;
}
