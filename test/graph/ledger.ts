import type { CallName, Effect, Fact, Json, SessionCommand, SessionInput } from '../../machines/index.ts';

/** How an effect settled: with its outcome or, if there is none, with a defect in its code. */
export type Settled = {
  name: string;
  outcome?: Json;
  /** The requests that a sub-agent sent. */
  requests?: number;
  /** The outcome holds a report that is rejected. */
  rejects?: true;
  /** What happens to its target: it is excluded, or limited for so many ms. */
  excludes?: true;
  limitsMs?: number;
};

/** An account of a session, kept from the effects and facts of its machines and not from their contexts. */
export type Ledger = {
  bound: SessionInput['bound'];
  budget: number | null;
  /** Epoch ms. */
  deadlineAt: number | null;
  /** Epoch ms. */
  now: number;
  requests: number;
  /** Requests of the current turn. */
  inTurn: number;
  /** Requests for summaries since the last turn began. */
  summaries: number;
  turns: number;
  maxTurns: number;
  isLastTurn: boolean;
  /** Requests that sub-agents sent. */
  below: number;
  /** Requests of the session and its sub-agents before the current turn. */
  sentBefore: number;
  /** Requests that began after the deadline. */
  late: number;
  /** Calls without an answer. */
  open: string[];
  /** The index of the target of the last request. */
  target: number;
  hasFailed: boolean;
  /** When each target is free (epoch ms); null if it is excluded. */
  freeAt: (number | null)[];
  commands: SessionCommand['type'][];
  ends: number;
  broken: string[];
};

export function freshLedger({ bound, budget, targets, at }: SessionInput): Ledger {
  return {
    bound,
    budget: budget.requests,
    deadlineAt: budget.deadlineAt,
    now: at,
    requests: 0,
    inTurn: 0,
    summaries: 0,
    turns: 0,
    maxTurns: bound.maxTurns,
    isLastTurn: false,
    below: 0,
    sentBefore: 0,
    late: 0,
    open: [],
    target: 0,
    hasFailed: false,
    freeAt: targets.map(() => 0),
    commands: [],
    ends: 0,
    broken: [],
  };
}

/** Keeps a ledger, and notes the promises that a session breaks. */
export class Bookkeeper {
  readonly ledger: Ledger;
  private readonly targets: readonly string[];

  constructor(before: Ledger, { targets }: SessionInput) {
    this.ledger = structuredClone(before);
    this.targets = targets;
  }

  promise(holds: boolean, sentence: string): void {
    if (!holds && !this.ledger.broken.includes(sentence)) this.ledger.broken.push(sentence);
  }

  commanded({ type }: SessionCommand): void {
    this.ledger.commands.push(type);
    if (type === 'session.stop') this.collapse();
  }

  settled({ key, request }: Effect, { requests = 0, rejects, excludes, limitsMs }: Settled): void {
    const { ledger } = this;
    if ('dueAt' in request) ledger.now = Math.max(ledger.now, request.dueAt);
    ledger.below += requests;
    if (key === 'deadline') this.collapse();
    if (!key.endsWith('/model')) return;
    if (rejects) this.collapse();
    if (excludes) ledger.freeAt[ledger.target] = null;
    else if (limitsMs !== undefined) ledger.freeAt[ledger.target] = ledger.now + limitsMs;
  }

  begun({ kind, key }: Effect): void {
    const { ledger } = this;
    const { maxTurns, maxRetries } = ledger.bound;
    this.promise(ledger.ends === 0 || kind === 'close', `no effect begins after the end (${key})`);
    if (kind === 'model' || kind === 'tool' || kind === 'approval')
      this.promise(!ledger.commands.includes('session.abort'), `D-2: no ${kind} begins after an abort`);
    if (kind === 'tool' || kind === 'approval')
      this.promise(!ledger.isLastTurn, `B-5: no ${kind} begins on the last turn`);
    if (kind === 'approval')
      this.promise(!ledger.commands.includes('session.stop'), 'D-2: no approval is asked for after a stop');
    if (kind !== 'model') return;
    this.promise(this.left >= 1, 'B-7: no request goes out once the budget is spent');
    if (this.isPastDeadline) ledger.late += 1;
    this.promise(ledger.late <= 1, 'one request, for the report, goes out after the deadline');
    ledger.requests += 1;
    ledger.inTurn += 1;
    this.promise(ledger.inTurn <= maxRetries, 'B-1: a turn sends at most maxRetries requests');
    this.promise(ledger.requests <= maxTurns * maxRetries, 'B-2: requests <= maxTurns x maxRetries');
  }

  fact(fact: Fact): void {
    const { ledger } = this;
    switch (fact.type) {
      case 'turn.started':
        if (this.isShort) this.collapse();
        ledger.turns += 1;
        ledger.inTurn = ledger.summaries;
        ledger.summaries = 0;
        ledger.sentBefore = ledger.requests + ledger.below;
        ledger.hasFailed = false;
        ledger.isLastTurn = ledger.turns === ledger.maxTurns;
        this.promise(fact.isLastTurn === ledger.isLastTurn, 'B-5: a turn knows whether it is the last');
        this.promise(ledger.turns <= ledger.maxTurns, 'B-4: no turn begins after the last');
        break;
      case 'session.collapsed':
        if (this.isShort) this.collapse();
        this.promise(fact.to === ledger.maxTurns, `B-4: maxTurns becomes ${ledger.maxTurns}, not ${fact.to}`);
        break;
      case 'conversation.compacted':
      case 'compaction.failed':
        if (fact.asked === null) break;
        ledger.requests += 1;
        ledger.summaries += 1;
        this.promise(ledger.summaries === 1, 'T-9: one summary at most precedes a turn');
        this.promise(this.left >= 1, 'T-9: a summary leaves its turn a request');
        break;
      case 'attempt.started':
        this.aims(this.targets.indexOf(fact.target));
        break;
      case 'attempt.failed':
      case 'attempt.progressed':
      case 'attempt.finished':
      case 'attempt.aborted':
        this.promise(ledger.open.length === 0, 'C-1: every call is answered before its attempt ends');
        ledger.hasFailed = fact.type === 'attempt.failed';
        if (this.isShort && fact.type !== 'attempt.finished') this.collapse();
        break;
      case 'tool.requested':
        ledger.open.push(nameOf(fact));
        break;
      case 'tool.answered':
        this.promise(ledger.open.includes(nameOf(fact)), 'C-1: a call is answered once');
        ledger.open = ledger.open.filter((name) => name !== nameOf(fact));
        break;
      case 'session.succeeded':
      case 'session.failed':
      case 'session.aborted':
        ledger.ends += 1;
        this.promise(ledger.open.length === 0, 'C-1: every call is answered before the session ends');
        this.promise(ledger.ends === 1, 'S-3: a session ends once');
        break;
      default:
    }
  }

  /** Requests that the budget has left. */
  private get left(): number {
    const { budget, requests, below } = this.ledger;
    return (budget ?? Number.POSITIVE_INFINITY) - requests - below;
  }

  private get isPastDeadline(): boolean {
    const { deadlineAt, now } = this.ledger;
    return deadlineAt !== null && now >= deadlineAt;
  }

  /** One more request at most may ask for the report. */
  private get isShort(): boolean {
    return this.left <= 1 || this.isPastDeadline;
  }

  /** The next turn is the last (B-4). */
  private collapse(): void {
    const { ledger } = this;
    ledger.maxTurns = Math.min(ledger.maxTurns, ledger.turns + 1);
  }

  /** The next living target after a failure is tried, and the same one again otherwise (P-2), unless it is limited (P-3). */
  private aims(target: number): void {
    const { ledger } = this;
    const first = ledger.hasFailed ? ledger.target + 1 : ledger.target;
    const order = ledger.freeAt.map((_, step) => (first + step) % ledger.freeAt.length);
    const next = order.find((index) => {
      const freeAt = ledger.freeAt[index];
      return freeAt != null && freeAt <= ledger.now;
    });
    this.promise(target === next, `P-2, P-3: target ${next} is next, not ${target}`);
    ledger.target = target;
  }
}

const nameOf = ({ turn, attempt, index }: CallName) => `${turn}/${attempt}/${index}`;
