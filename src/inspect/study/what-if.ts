import type { Delivery, Effect, Fact } from '../../../machines/index.ts';
import { approvalKey, modelKey, requestOfKey, toolKey } from '../../../machines/index.ts';
import { unexpected } from '../../input/errors.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import { type MakePlayer, Replay } from '../../journal/replay/replay.ts';
import { storedFacts } from '../../journal/replay/stored-facts.ts';
import { OfflinePlayer } from '../../session/replay/offline-player.ts';

/** A delivery in place of the recorded one, which is the entry of this number, from 1; a command comes before it. */
export type DeliveryChange = { entry: number; delivery: Delivery };

export type WhatIf = {
  /** A session like any recorded one: the same up to the change, and from there what the machines decide. */
  entries: JournalEntry[];
  /** The keys of the requested effects that have no recorded result. */
  pending: string[];
};

/**
 * Returns what the machines would have decided if a delivery to the session had been different. What was recorded later is
 * delivered if they ask for it under the same key, and for a call under the same name; the rest is dropped. Waits end at
 * their due time. Neither a model nor a tool is asked. With `stops`, nothing is delivered after the change.
 */
export function whatIf(entries: readonly JournalEntry[], change: DeliveryChange, { stops = false } = {}): WhatIf {
  const changed = entries[change.entry - 1];
  if (changed?.type !== 'delivered' || changed.scope !== '') {
    throw unexpected('invalid_options', 'entry', change.entry, 'the number of a delivery to the session');
  }
  const branch = new Branch(entries.slice(0, change.entry - 1), entries.slice(change.entry - 1));
  branch.deliver(change.delivery);
  if (stops) return { entries: branch.entries, pending: branch.pending };
  const isCommand = 'event' in change.delivery;
  const later = entries.slice(isCommand ? change.entry - 1 : change.entry).flatMap((entry) => {
    return entry.type === 'delivered' && entry.scope === '' ? [entry.delivery] : [];
  });
  const names = callNames(entries);
  for (let next = branch.nextOf(later, names); next !== null; next = branch.nextOf(later, names)) branch.deliver(next);
  return branch.end();
}

/** Returns the delivery that led to the step of an entry; null for the start, and for a step of a sub-agent. */
export function ledTo(entries: readonly JournalEntry[], step: number): DeliveryChange | null {
  if (entries[step - 1]?.scope !== '') return null;
  const steps = entries.slice(0, step).filter(({ type, scope }) => type === 'stepped' && scope === '').length;
  let left = steps - 1;
  for (const [index, entry] of entries.entries()) {
    if (entry.type !== 'delivered' || entry.scope !== '') continue;
    left -= 1;
    if (left === 0) return { entry: index + 1, delivery: entry.delivery };
  }
  return null;
}

/** A session that leaves a recorded one. */
class Branch {
  readonly entries: JournalEntry[];
  private readonly player: OfflinePlayer;
  private readonly sent = new Set<string>();
  private readonly later: readonly JournalEntry[];
  private at: number;
  /** The delay of the recorded deliveries, in ms. */
  private shift = 0;
  /** What the machines state in a step that was not recorded; null while the recorded ones are replayed. */
  private stated: Fact[] | null = null;

  constructor(kept: readonly JournalEntry[], later: readonly JournalEntry[]) {
    this.entries = [...kept];
    this.later = later;
    const make: MakePlayer<OfflinePlayer> = (head, above, source) => {
      const take = (fact: Fact) => {
        if (this.stated === null) return source.take(fact);
        this.stated.push(fact);
        return fact;
      };
      return new OfflinePlayer(head, above, { ...source, take }, { secrets: [], follower: null });
    };
    const replay = new Replay(make);
    replay.play(kept);
    this.player = replay.root;
    this.at = this.player.head.input.at;
    const unstepped: (Delivery | null)[] = [null];
    for (const entry of kept) {
      if (entry.type === 'sent' && entry.scope === '') this.sent.add(modelKey(entry));
      if (entry.type === 'delivered' && entry.scope === '') this.at = entry.delivery.at;
      if (entry.scope !== '') continue;
      if (entry.type === 'delivered') unstepped.push(entry.delivery);
      if (entry.type === 'stepped') unstepped.shift();
    }
    // Deliveries of one batch are written before their steps.
    for (const delivery of unstepped) this.step(delivery);
  }

  deliver(recorded: Delivery): void {
    this.shift = Math.max(this.shift, this.at - recorded.at);
    const delivery = { ...recorded, at: recorded.at + this.shift };
    this.at = delivery.at;
    this.sendPending();
    this.entries.push({ scope: '', type: 'delivered', delivery });
    this.player.deliver(delivery);
    this.step(delivery);
  }

  /** Takes the next recorded delivery that the machines request, or ends a wait; null if there is neither. */
  nextOf(later: Delivery[], names: ReadonlyMap<string, string>): Delivery | null {
    const pending = new Map(this.player.pending.map((effect) => [effect.key, effect]));
    if (pending.size === 0) return null;
    const isAskedFor = (delivery: Delivery) => 'event' in delivery || isSame(pending.get(delivery.key), names);
    const position = later.findIndex(isAskedFor);
    if (position !== -1) return later.splice(position, 1)[0] ?? null;
    for (const { key, kind, request } of pending.values()) {
      const at = (kind === 'wait' ? Math.max(this.at, request.dueAt) : this.at) - this.shift;
      const isEmpty = (kind === 'wait' && request.kind === 'backoff') || kind === 'close';
      if (isEmpty) return { key, at, chance: 0.5, outcome: {} };
      if (kind === 'admission') return { key, at, chance: 0.5, outcome: { left: 'many', isGated: false } };
    }
    return null;
  }

  end(): WhatIf {
    this.sendPending();
    return { entries: this.entries, pending: this.pending };
  }

  get pending(): string[] {
    return this.player.pending.map(({ key }) => key);
  }

  private step(delivery: Delivery | null): void {
    const seq = this.player.position();
    const stated: Fact[] = [];
    this.stated = stated;
    this.player.step();
    const facts = storedFacts(stated, delivery);
    this.entries.push({ scope: '', type: 'stepped', seq, end: this.player.position(), facts });
  }

  /** Notes the requests that would have gone out. */
  private sendPending(): void {
    for (const { key, kind, request } of this.player.pending) {
      if (kind !== 'model' || this.sent.has(key)) continue;
      this.sent.add(key);
      const { turn, attempt } = request;
      const { messages } = this.player.observer.folds.conversation;
      this.entries.push({
        scope: '',
        type: 'sent',
        turn,
        attempt,
        provider: 'what if',
        messages: messages.length,
        tools: this.toolsOf(turn, attempt),
        marks: 0,
      });
    }
  }

  /** The list of tools of the recorded request of this turn and attempt; none if there was no such request. */
  private toolsOf(turn: number, attempt: number): number | null {
    const recorded = this.later.find(
      (entry) => entry.type === 'sent' && entry.scope === '' && entry.turn === turn && entry.attempt === attempt,
    );
    if (recorded?.type !== 'sent' || recorded.tools === null) return null;
    const isOffer = (entry: JournalEntry) => entry.type === 'offered' && entry.number === recorded.tools;
    const offer = this.later.find(isOffer);
    if (offer !== undefined && !this.entries.some(isOffer)) this.entries.push(offer);
    return recorded.tools;
  }
}

function isSame(effect: Effect | undefined, names: ReadonlyMap<string, string>): boolean {
  if (effect === undefined) return false;
  return effect.kind !== 'tool' && effect.kind !== 'approval' ? true : names.get(effect.key) === effect.request.name;
}

/** The names of the calls that were recorded, by the keys of their effects. */
function callNames(entries: readonly JournalEntry[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const entry of entries) {
    if (entry.type !== 'delivered' || entry.scope !== '' || !('outcome' in entry.delivery)) continue;
    const { key, outcome } = entry.delivery;
    const { calls } = (outcome ?? {}) as { calls?: { name: string }[] };
    const place = requestOfKey(key);
    if (place === null || !Array.isArray(calls)) continue;
    for (const [index, { name }] of calls.entries()) {
      names.set(toolKey({ ...place, index }), name);
      names.set(approvalKey({ ...place, index }), name);
    }
  }
  return names;
}
