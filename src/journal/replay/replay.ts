import type { Delivery, Fact } from '../../../machines/index.ts';
import { eventLoop } from '../../host/event-loop.ts';
import { PawlError, reasonOf } from '../../input/errors.ts';
import type { Sighting } from '../../observe/events.ts';
import type { StatedSource } from '../../observe/observer.ts';
import type { JournalEntry, SessionHead } from '../journal.ts';
import { notASession } from '../journal-errors.ts';
import { scopeOf } from '../scope-log.ts';
import { StatedAgain } from './stated-again.ts';
import { restoredFacts } from './stored-facts.ts';

/** A session of a recorded tree, which is played again. Nothing of the world is touched (D-3). */
export type Player = {
  /** Takes up a delivery; the next step delivers it. */
  deliver(delivery: Delivery): void;
  /** An effect had begun at `at` (epoch ms). */
  mark(key: string, at: number): void;
  /** Takes the next step of the machines. Returns false for machines that broke before. */
  step(): boolean;
  /** Takes in facts of the step that the machines did not state; `at` is the time of its delivery (epoch ms), if it had one. */
  restate(facts: readonly Fact[], at: number | null): void;
  resight(sighting: Sighting, at: number): void;
  /** The position in the stream of the whole tree. */
  position(): number;
  moveTo(position: number): void;
};

/** Makes the player of a session; `above` is null for the root. */
export type MakePlayer<P extends Player> = (head: SessionHead, above: P | null, source: StatedSource) => P;

type Stepped = Extract<JournalEntry, { type: 'stepped' }>;
type Sighted = Extract<JournalEntry, { type: 'sighted' }>;

/** A session of the tree, with the deliveries that its next steps take. */
type Played<P> = { player: P; again: StatedAgain<Fact>; deliveries: Delivery[]; hasStarted: boolean };

/** Where the machines took another way than the journal: after entry `entry`, from 1. */
export type Difference = { entry: number; scope: string; recorded: string; replayed: string };

/** A fact of entry `entry`, from 1, that the machines state in other words. */
export type Rewording = { entry: number; scope: string; recorded: Fact; replayed: Fact };

type OnEntry = (entry: JournalEntry, facts: readonly Fact[] | null) => void;

/** Plays the entries of a session's journal in order: the session, its sub-agents, and what was sighted. */
export class Replay<P extends Player> {
  private readonly sessions = new Map<string, Played<P>>();
  private readonly make: MakePlayer<P>;
  /** What was sighted among the facts of the current step, and is still to come. */
  private among: Sighted[] = [];
  /** Why some of it cannot be taken in. The machines are in the middle of the step, which must not break. */
  private readonly refusals: unknown[] = [];
  /** The number of the entry that is played, from 1. */
  entry = 0;
  /** How many entries were played by earlier calls. */
  private before = 0;

  /** Where the machines took another way; null if they did not. */
  difference: Difference | null = null;
  private readonly readsOn: boolean;
  private readonly onRewording: (rewording: Rewording) => void;

  /** With `readsOn`, what was recorded after a difference is taken in without the machines, which take no further step. */
  constructor(
    make: MakePlayer<P>,
    {
      readsOn = false,
      onRewording = () => {},
    }: { readsOn?: boolean; onRewording?: (rewording: Rewording) => void } = {},
  ) {
    this.make = make;
    this.readsOn = readsOn;
    this.onRewording = onRewording;
  }

  get root(): P {
    return this.sessionOf('').player;
  }

  /** The players of the sessions of the tree, by their scopes. */
  get players(): [scope: string, player: P][] {
    return [...this.sessions].map(([scope, { player }]) => [scope, player]);
  }

  /** Whether a delivery was written down and no step has taken it. */
  get isBehind(): boolean {
    return [...this.sessions.values()].some(({ deliveries, hasStarted }) => deliveries.length > 0 || !hasStarted);
  }

  /** Returns the player of a session of the tree. */
  playerOf(scope: string): P {
    return this.sessionOf(scope).player;
  }

  /**
   * Plays the entries, up to the first that leads elsewhere than it did, unless it reads on. Returns that difference, or
   * null. `onEntry` is called after each entry; with the facts of a step, or null. Further calls play the entries that
   * follow.
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
      this.play(entries.slice(at, end), onEntry);
      if (this.isOver) break;
      at = end;
      if (eventLoop.isDue) await eventLoop.turn();
    }
    return this.difference;
  }

  private played(entries: readonly JournalEntry[], onEntry: OnEntry): Difference | null {
    const rest = this.isOver ? [] : entries.toReversed();
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
      onEntry(entry, this.step(entry));
      if (this.isOver) return this.difference;
    }
    this.before += entries.length;
    return this.difference;
  }

  /** Whether nothing more is played. */
  private get isOver(): boolean {
    return this.difference !== null && !this.readsOn;
  }

  private takeEntry(entry: Exclude<JournalEntry, { type: 'stepped' }>): void {
    switch (entry.type) {
      case 'started':
        this.start(entry.head, entry.scope);
        return;
      case 'begun':
        this.playerOf(entry.scope).mark(entry.key, entry.at);
        return;
      case 'delivered': {
        const { player, deliveries } = this.sessionOf(entry.scope);
        deliveries.push(entry.delivery);
        if (this.difference === null) player.deliver(entry.delivery);
        return;
      }
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
    const again = new StatedAgain<Fact>();
    const source: StatedSource = {
      take: (fact) => again.take(fact),
      beforeFact: () => {
        try {
          this.resightUpTo(this.root.position());
        } catch (error) {
          this.refusals.push(error);
        }
      },
    };
    const player = this.make(head, above, source);
    this.sessions.set(scope, { player, again, deliveries: [], hasStarted: false });
  }

  /** Machines that had broken take no step: their end was recorded as one. */
  private step({ scope, seq, facts }: Stepped): readonly Fact[] {
    const session = this.sessionOf(scope);
    const delivery = session.hasStarted ? (session.deliveries.shift() ?? null) : null;
    session.hasStarted = true;
    const recorded = restoredFacts(facts, delivery);
    this.root.moveTo(seq);
    session.again.begin(recorded);
    if (this.difference === null && session.player.step()) {
      const { difference, reworded } = session.again;
      if (difference !== null) this.difference = { entry: this.entry, scope, ...difference };
      for (const one of reworded) this.onRewording({ entry: this.entry, scope, ...one });
    }
    session.player.restate(session.again.rest, delivery?.at ?? null);
    for (const refusal of this.refusals) throw refusal;
    this.resightUpTo(Number.POSITIVE_INFINITY);
    return recorded;
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

  private sessionOf(scope: string): Played<P> {
    const session = this.sessions.get(scope);
    if (session !== undefined) return session;
    throw new PawlError('invalid_journal', `The journal tells of a session "${scope}" that did not start.`);
  }
}
