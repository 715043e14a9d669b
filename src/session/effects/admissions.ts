import type { AdmissionOutcome, AdmissionRequest, ModelOutcome, SessionCommand } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import type { Target } from '../../model/targets.ts';
import type { Gate, GateMember, Pass } from '../../shared/gate.ts';
import { Underway } from '../../shared/underway.ts';
import type { Surroundings } from '../wiring/surroundings.ts';
import { type BudgetDraws, passEnd } from './budget-draws.ts';

export type AdmissionParts = {
  agent: Pick<Agent, 'targets'>;
  around: Pick<Surroundings, 'clock' | 'priority' | 'party'>;
  draws: BudgetDraws;
  /** Told of a store of a gate that does not answer. */
  onUnshared: (error: unknown) => void;
};

/** A target of the session, with its gate, and what the gate knows the session by. */
type Way = { target: Target; gate: Gate; member: GateMember };

type SendWith = (pass: Pass) => Promise<ModelOutcome>;

/** What a session shares with others of its process before each request: the gates of its targets, and a budget (P-7, B-8). */
export class Admissions {
  private readonly parts: AdmissionParts;
  private readonly ways: Way[];
  private command: (command: SessionCommand) => void = () => {};
  private leaves: (() => void)[] = [];
  private readonly underway = new Underway();
  /** Let through, and not yet sent. */
  private pass: Pass | null = null;

  constructor(parts: AdmissionParts) {
    this.parts = parts;
    this.ways = parts.agent.targets.map((target, index) => {
      const member = { gated: () => this.command({ type: 'session.gated', target: index }) };
      return { target, gate: target.gate, member };
    });
  }

  /** Joins the gates, which send the session commands. After a replay, they do so at once if they limit a target. */
  open(command: (command: SessionCommand) => void, { goesOn }: { goesOn: boolean }): void {
    this.command = command;
    this.leaves = this.ways.map(({ gate, member }) => gate.join(member));
    if (goesOn) for (const { gate, member } of this.ways) gate.catchUp(member, this.parts.around.clock.now());
  }

  /** Leaves the gates and the budget: nothing is held for the session any more. Never rejects. */
  async close(how: { continues: boolean }): Promise<void> {
    for (const leave of this.leaves) leave();
    // What was cut off settles what was set aside for it.
    await this.underway.ended();
    if (this.pass !== null) {
      this.giveBack(this.pass);
      this.pass = null;
      await this.parts.draws.unused(how);
    }
    await this.underway.ended();
    await this.parts.draws.leave(how);
  }

  /** Takes a place for the first request of `tokens`, if one is free. Returns the targets whose gates are asked from the start. */
  prepared(tokens: number, unavailable: readonly number[]): number[] {
    const first = this.ways.findIndex((_, index) => !unavailable.includes(index));
    return this.ways.flatMap(({ gate, member }, index) => {
      const now = this.parts.around.clock.now();
      // A session that may have to wait for its budget holds no place meanwhile.
      const takes = index === first && !this.parts.draws.isShared && !gate.isGiven;
      if (takes) this.pass = gate.tryEnter({ ...this.asks, tokens });
      const isGated = takes ? this.pass === null : gate.mustAsk(now) || gate.isCrowded;
      gate.note(member, isGated);
      return isGated ? [index] : [];
    });
  }

  /** Runs the admission effect: waits until the budget and the gate let the next request through. */
  admit({ target: index, tokens }: AdmissionRequest, signal: AbortSignal): Promise<AdmissionOutcome> {
    return this.underway.during(async () => {
      const way = this.wayTo(index);
      const left = await this.parts.draws.reserve(way.target, tokens, signal);
      if (left === 'none') return { left, isGated: true };
      if (this.pass !== null) this.giveBack(this.pass);
      this.pass = await this.entered(way.gate, tokens, signal);
      const isGated = way.gate.mustAsk(this.parts.around.clock.now());
      way.gate.note(way.member, isGated);
      return { left, isGated };
    });
  }

  /** Sends a request to a target, by its index, with the place that was taken for it. */
  send(index: number, request: SendWith): Promise<ModelOutcome> {
    const { gate } = this.wayTo(index);
    const own = this.pass;
    this.pass = null;
    const isOfGate = own !== null && own.gate === gate;
    // A place at another gate is of no use here.
    if (own !== null && !isOfGate) this.giveBack(own);
    if (isOfGate) own.begin();
    return this.underway.during(() => this.sent(isOfGate ? own : gate.pass({ ...this.asks, tokens: 0 }), request));
  }

  /** Sends a request for a summary, which waits as an attempt does; null if the budget allows no more than the report. */
  summary(target: Target, tokens: number, signal: AbortSignal, request: SendWith): Promise<ModelOutcome | null> {
    return this.underway.during(async () => {
      const left = await this.parts.draws.reserve(target, tokens, signal);
      if (left === 'one') await this.parts.draws.unused();
      if (left === 'one' || left === 'none') return null;
      const pass = await this.entered(target.gate, tokens, signal);
      return this.sent(pass, request);
    });
  }

  private async sent(pass: Pass, request: SendWith): Promise<ModelOutcome> {
    try {
      const outcome = await request(pass);
      pass.ended(passEnd(outcome));
      await this.parts.draws.settle(outcome);
      return outcome;
    } finally {
      this.giveBack(pass);
    }
  }

  /** Waits at the gate. */
  private async entered(gate: Gate, tokens: number, signal: AbortSignal): Promise<Pass> {
    try {
      return await gate.enter({ ...this.asks, tokens, signal, told: this.parts.onUnshared });
    } catch (error) {
      await this.parts.draws.unused();
      throw error;
    }
  }

  /** Gives a place back, unless its request has done so. */
  private giveBack(pass: Pass): void {
    pass.unused();
    // The processes that share the gate learn of it from the store.
    void this.underway.during(() => pass.released);
  }

  private get asks() {
    const { clock, priority, party } = this.parts.around;
    return { clock, priority, party };
  }

  private wayTo(index: number): Way {
    const way = this.ways[index];
    if (way === undefined) throw new Error(`no target at index ${index}`);
    return way;
  }
}
