import type { Delivery, Fact } from '../../machines/index.ts';
import { eventLoop } from '../host/event-loop.ts';
import { PawlError, reasonOf } from '../input/errors.ts';
import type { Sighting } from '../observe/events.ts';
import type { JournalEntry, SessionHead } from './journal.ts';
import { notASession } from './journal-errors.ts';
import { factsSummary, scopeOf } from './scope-log.ts';

/** A session of a recorded tree, which is played again. Nothing of the world is touched (D-3). */
export type Player = {
  /** Takes up a delivery; the next step delivers it. */
  deliver(delivery: Delivery): void;
  /** An effect had begun at `at` (epoch ms). */
  mark(key: string, at: number): void;
  /** Takes the next step of the machines. Returns the facts that follow, if any; null for machines that broke before. */
  step(): Fact[] | null;
  resight(sighting: Sighting, at: number): void;
  /** The position in the stream of the whole tree. */
  position(): number;
  moveTo(position: number): void;
};

/** Makes the player of a session; `above` is null for the root. */
export type MakePlayer<P extends Player> = (head: SessionHead, above: P | null, beforeFact: () => void) => P;

type Stepped = Extract<JournalEntry, { type: 'stepped' }>;
type Sighted = Extract<JournalEntry, { type: 'sighted' }>;

/** Where the machines took another way than the journal: after entry `entry`, from 1. */
export type Difference = { entry: number; scope: string; recorded: string; replayed: string };

type OnEntry = (entry: JournalEntry, facts: Fact[] | null) => void;

/** Plays the entries of a session's journal in order: the session, its sub-agents, and what was sighted. */
export class Replay<P extends Player> {
  readonly players = new Map<string, P>();
  private readonly make: MakePlayer<P>;
  /** What was sighted among the facts of the current step, and is still to come. */
  private among: Sighted[] = [];
  /** Why some of it cannot be taken in. The machines are in the middle of the step, which must not break. */
  private readonly refusals: unknown[] = [];
  /** The number of the entry that is played, from 1. */
  entry = 0;
  /** How many entries were played by earlier calls. */
  private before = 0;

  private readonly compares: boolean;

  /** Without `compares`, the machines may take another way than the journal says. */
  constructor(make: MakePlayer<P>, { compares = true }: { compares?: boolean } = {}) {
    this.make = make;
    this.compares = compares;
  }

  get root(): P {
    return this.playerOf('');
  }

  /**
   * Plays the entries, up to the first that leads elsewhere than it did. Returns that difference, or null. `onEntry` is
   * called after each entry; with the facts of a step, or null. Further calls go on with the entries that follow.
   */
  play(entries: readonly JournalEntry[], onEntry: OnEntry = () => {}): Difference | null {
    try {
      return this.played(entries, onEntry);
    } catch (error) {
      if (error instanceof PawlError) throw error;
      const message = `Entry ${this.entry} of the journal cannot be replayed: ${reasonOf(error)}.`;
      throw new PawlError('invalid_journal', message, { cause: error });
    }
  }

  /** Does as `play` does, step by step: the event loop has its turn between the steps. */
  async playInTurns(entries: readonly JournalEntry[], onEntry?: OnEntry): Promise<Difference | null> {
    for (let at = 0; at < entries.length; ) {
      let end = at + 1;
      while (end < entries.length && entries[end]?.type !== 'stepped') end += 1;
      const difference = this.play(entries.slice(at, end), onEntry);
      if (difference !== null) return difference;
      at = end;
      if (eventLoop.isDue) await eventLoop.turn();
    }
    return null;
  }

  private played(entries: readonly JournalEntry[], onEntry: OnEntry): Difference | null {
    const rest = entries.toReversed();
    for (let entry = rest.pop(); entry !== undefined; entry = rest.pop()) {
      this.entry = this.before + entries.length - rest.length;
      if (entry.type !== 'stepped') {
        this.takeEntry(entry);
        onEntry(entry, null);
        continue;
      }
      for (let next = rest.at(-1); next?.type === 'sighted' && next.seq < entry.end; next = rest.at(-1)) {
        this.among.push(next);
        rest.pop();
      }
      const facts = this.step(entry);
      onEntry(entry, facts);
      const difference = facts === null || !this.compares ? null : this.difference(entry, facts);
      if (difference !== null) return difference;
    }
    this.before += entries.length;
    return null;
  }

  private takeEntry(entry: Exclude<JournalEntry, { type: 'stepped' }>): void {
    switch (entry.type) {
      case 'started':
        this.start(entry.head, entry.scope);
        return;
      case 'begun':
        this.playerOf(entry.scope).mark(entry.key, entry.at);
        return;
      case 'delivered':
        this.playerOf(entry.scope).deliver(entry.delivery);
        return;
      case 'sighted':
        this.resight(entry);
        return;
      case 'run':
        throw notASession(entry.head.sessionId);
      default:
        return;
    }
  }

  private start(head: SessionHead, scope: string): void {
    if (scopeOf(head) !== scope) {
      throw new PawlError('invalid_journal', `The journal tells of a session "${scope}" that another call started.`);
    }
    const above = head.call === null ? null : this.playerOf(head.call.parent);
    this.players.set(
      scope,
      this.make(head, above, () => {
        try {
          this.resightUpTo(this.root.position());
        } catch (error) {
          this.refusals.push(error);
        }
      }),
    );
  }

  /** When the machines broke, their end was recorded as a step that they cannot take again: then this returns null. */
  private step({ scope, seq }: Stepped): Fact[] | null {
    this.root.moveTo(seq);
    const facts = this.playerOf(scope).step();
    for (const refusal of this.refusals) throw refusal;
    this.resightUpTo(Number.POSITIVE_INFINITY);
    return facts;
  }

  private difference({ scope, facts, digest }: Stepped, taken: readonly Fact[]): Difference | null {
    const replayed = factsSummary(taken);
    if (replayed.digest === digest) return null;
    const said = replayed.facts === facts ? `${facts} with other contents` : replayed.facts;
    return { entry: this.entry, scope, recorded: facts, replayed: said };
  }

  private resightUpTo(seq: number): void {
    for (let [next] = this.among; next !== undefined && next.seq <= seq; [next] = this.among) {
      this.among.shift();
      this.resight(next);
    }
  }

  private resight({ scope, seq, sighting, at }: Sighted): void {
    this.root.moveTo(seq);
    this.playerOf(scope).resight(sighting, at);
  }

  private playerOf(scope: string): P {
    const player = this.players.get(scope);
    if (player !== undefined) return player;
    throw new PawlError('invalid_journal', `The journal tells of a session "${scope}" that did not start.`);
  }
}
