import type { Fact } from '../../../machines/index.ts';
import { modelKey } from '../../../machines/index.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import { type Difference, type MakePlayer, Replay, type Rewording } from '../../journal/replay/replay.ts';
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
  /** The facts that the machines state in other words today (D-6). */
  readonly reworded: Rewording[] = [];
  private readonly replay: Replay<OfflinePlayer>;
  /** What the last request of each session left out and was told, as the facts say. */
  private readonly asked = new Map<string, Asked>();

  /** `secrets` are taken out of the events. A `follower` sees more than the steps. */
  constructor(secrets: readonly string[], follower: Follower | null = null) {
    const make: MakePlayer<OfflinePlayer> = (head, above, source) => {
      this.causes.set(scopeOf(head), ['start']);
      return new OfflinePlayer(head, above, source, { secrets, follower });
    };
    this.replay = new Replay(make, { readsOn: true, onRewording: (one) => this.reworded.push(one) });
  }

  /** Where the machines took another way; null if they did not. What followed is told as it was recorded (D-6). */
  get difference(): Difference | null {
    return this.replay.difference;
  }

  /** Plays the entries that follow. */
  play(entries: readonly JournalEntry[], onEntry: (entry: JournalEntry) => void = () => {}): void {
    this.replay.play(entries, (entry, facts) => {
      this.note(entry, facts);
      onEntry(entry);
    });
  }

  /** Does as `play` does; the event loop has its turn between the steps. */
  async playInTurns(entries: readonly JournalEntry[]): Promise<void> {
    await this.replay.playInTurns(entries, (entry, facts) => this.note(entry, facts));
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
      states: difference === null ? states : [],
      pending: difference === null ? pending.map(({ key }) => key) : [],
      difference,
    };
  }

  private note(entry: JournalEntry, facts: readonly Fact[] | null): void {
    if (entry.type === 'offered') this.tools.set(entry.number, entry.tools);
    if (entry.type === 'delivered') this.causes.get(entry.scope)?.push(causeOf(entry));
    if (facts !== null) {
      const cause = this.causes.get(entry.scope)?.shift() ?? '';
      const { sessionId } = this.replay.playerOf(entry.scope).head;
      this.steps.push({ entry: this.replay.entry, sessionId, cause, facts });
      this.asked.set(entry.scope, facts.reduce(askedAfter, this.asked.get(entry.scope) ?? nothingAsked));
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
    const { head, observer } = this.replay.playerOf(scope);
    const { conversation } = observer.folds;
    return {
      sessionId: head.sessionId,
      turn,
      attempt,
      provider,
      instructions: conversation.instructions,
      messages: conversation.messages.slice(0, messages),
      ...(this.asked.get(scope) ?? nothingAsked),
      marks,
      tools: tools === null ? [] : (this.tools.get(tools) ?? []),
    };
  }
}

type Asked = Pick<SentRequest, 'notice' | 'omitted' | 'omittedText'>;

const nothingAsked: Asked = { notice: null, omitted: [], omittedText: 0 };

function askedAfter(asked: Asked, fact: Fact): Asked {
  if (fact.type === 'attempt.started') return { ...asked, notice: fact.notice };
  if (fact.type === 'conversation.compacted') return { ...asked, omitted: [], omittedText: 0 };
  if (fact.type !== 'results.omitted') return asked;
  const { omitted, omittedText } = asked;
  return { ...asked, omitted: [...omitted, ...fact.callIds], omittedText: omittedText + fact.textTokens };
}

function causeOf({ delivery }: Extract<JournalEntry, { type: 'delivered' }>): string {
  return 'event' in delivery ? delivery.event.type : delivery.key;
}
