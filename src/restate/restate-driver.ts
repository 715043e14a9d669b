import type { RestatePromise, WorkflowContext } from '@restatedev/restate-sdk';
import type { Delivery, Effect, EffectOf, Json, SessionCommand } from '../../machines/index.ts';
import type { Driver, DriverOwner, Perform } from '../host/driver.ts';
import { DriverCore, type Outcome } from '../host/driver-core.ts';
import { RunningEffect } from '../host/effect-context.ts';
import type { Host, KeyedDelivery } from '../host/host.ts';
import { AwaitedSteps } from './awaited-steps.ts';
import { storable } from './payload.ts';
import { type BegunChild, cancellation, type RestateOwner, type TimedMessage } from './restate-owner.ts';

/** A completed step of the engine. */
type Arrival =
  | { kind: 'ended'; delivery: KeyedDelivery }
  | { kind: 'message'; given: TimedMessage }
  | { kind: 'child'; effect: EffectOf<'tool'>; ended: () => Outcome | null };

/**
 * The driver on Restate: effects are durable steps, waits are durable sleeps, and messages are durable promises. The
 * engine records the order in which they complete, and a replay repeats it (D-1, D-3). Effects are marked in a separate
 * step before they begin. If the mark comes from an earlier attempt of the engine, the effect is not performed (D-4).
 */
export class RestateDriver implements Driver {
  private readonly context: WorkflowContext;
  /** Identifies this attempt of the engine. */
  private readonly nonce: string;
  private readonly owner: RestateOwner;
  private attached: DriverCore<SessionCommand> | null = null;
  /** Calls to sub-agents that are now performed like any other effect. */
  private readonly granted = new Map<string, Effect>();
  private readonly queue: Delivery[] = [];
  private readonly steps: AwaitedSteps<Arrival>;
  private messages = 0;
  /** The time of the last delivery, in epoch ms: a replay must not read the clock. */
  private at: number;
  private hasCaughtUp = false;
  /** Resolves when the tools are open in this process. */
  private opened: Promise<void> | null = null;

  /** `at` is the session's start, in epoch ms. `owner` is used by `drive` and later. */
  constructor(context: WorkflowContext, nonce: string, at: number, owner: RestateOwner) {
    this.context = context;
    this.nonce = nonce;
    this.at = at;
    this.owner = owner;
    this.steps = new AwaitedSteps(context, (...when) => this.receive(cancellation(...when)));
  }

  attach(host: Host, perform: Perform, owner: DriverOwner): this {
    this.attached = new DriverCore(host, perform, owner, (key) => this.settled(key));
    return this;
  }

  start(startTree: () => void): void {
    startTree();
    this.core.drain();
  }

  command(event: SessionCommand): void {
    // What is heard in this process alone would not come again in a replay.
    if (event.type !== 'session.gated') this.queue.push({ at: this.at, event });
  }

  answer(key: string, outcome: Outcome): void {
    this.queue.push({ key, at: this.at, chance: noChance, outcome: outcome as Json });
  }

  /** Drives the session to its end. `early` are messages that came before it began. */
  async drive(early: readonly TimedMessage[]): Promise<void> {
    const { owner } = this;
    for (const message of early) this.receive(message);
    this.awaitMessage();
    for (;;) {
      for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
        this.deliver(next);
        await this.writeLines();
      }
      if (owner.hasEnded()) break;
      await this.beginAll();
      if (this.queue.length > 0) continue;
      if (!this.hasCaughtUp && isProcessing(this.context)) {
        this.hasCaughtUp = true;
        owner.caughtUp();
      }
      await this.takeNext();
    }
    await this.leave();
  }

  /** Machines that break leave effects behind. */
  private async leave(): Promise<void> {
    const { children } = this.owner;
    this.core.cancelAll();
    children.abort();
    while (children.areRunning()) await this.takeNext();
  }

  /** Aborts running effects: this attempt of the engine is over. */
  release(): void {
    this.core.cancelAll();
  }

  private get core(): DriverCore<SessionCommand> {
    if (this.attached === null) throw new Error('the driver is not attached to a host');
    return this.attached;
  }

  private deliver(delivery: Delivery): void {
    this.at = Math.max(this.at, delivery.at);
    const isStop = 'event' in delivery && delivery.event.type === 'session.stop';
    if (isStop) this.owner.children.stop();
    this.core.deliver(delivery);
  }

  private async beginAll(): Promise<void> {
    const { core, owner } = this;
    const { pending } = core;
    core.pending = [];
    const performed: Effect[] = [];
    for (const effect of pending) {
      if (effect.kind === 'wait') this.sleepUntil(effect.key, effect.request.dueAt);
      else if (effect.kind === 'approval') this.limitApproval(effect);
      // The engine could not suspend a step that waits for another one.
      else if (effect.kind === 'close' && owner.children.areRunning()) core.pending.push(effect);
      else if (effect.kind !== 'tool' || !(this.askForChild(effect) || this.handOut(effect))) performed.push(effect);
    }
    owner.children.share();
    performed.push(...this.granted.values());
    this.granted.clear();
    await this.performAll(performed);
  }

  /** Marks effects durably, then begins them. */
  private async performAll(effects: readonly Effect[]): Promise<void> {
    if (effects.length === 0) return;
    const keys = effects.map(({ key }) => key).join(' ');
    const mark = await this.steps.completed(this.context.run(`mark ${keys}`, () => this.nonce));
    for (const effect of effects) this.perform(effect, mark === this.nonce);
  }

  private perform(effect: Effect, isOurs: boolean): void {
    const { core } = this;
    const { key } = effect;
    const running = new RunningEffect(effect, this.at, !isOurs);
    core.running.set(key, running);
    const act = async (): Promise<KeyedDelivery> => {
      await this.toolsFor(effect);
      const interrupted = isOurs ? null : this.owner.interrupted(effect);
      if (interrupted !== null) return core.outcomeOf(key, interrupted);
      try {
        return storable(core.outcomeOf(key, await core.perform(effect, running)), this.owner.maxValueBytes);
      } catch (error) {
        return core.defectOf(key, error);
      }
    };
    this.await(key, this.context.run(key, act), (delivery) => ({ kind: 'ended', delivery }));
  }

  /** Opens the tools if another process had opened them. A failure belongs to the engine, which retries (D-5). */
  private async toolsFor({ kind }: Effect): Promise<void> {
    if (kind === 'prepare' || kind === 'close') this.opened ??= Promise.resolve();
    this.opened ??= this.owner.openTools();
    await this.opened.catch((error) => {
      this.opened = null;
      throw error;
    });
  }

  private sleepUntil(key: string, dueAt: number, outcome: Json = {}): void {
    const delivery: KeyedDelivery = { key, at: Math.max(this.at, dueAt), chance: noChance, outcome };
    const slept = this.context.sleep(Math.max(0, dueAt - this.at), key);
    this.await(key, slept, () => ({ kind: 'ended', delivery }));
  }

  /** The decision arrives as a message; here the approval only times out. */
  private limitApproval({ key }: Effect): void {
    const { approvalTimeoutMs } = this.owner;
    if (approvalTimeoutMs === null) return;
    this.sleepUntil(key, this.at + approvalTimeoutMs, { decision: 'timeout', reason: null });
  }

  /** The answer to a client-side call arrives as a message; here it only times out. */
  private handOut(effect: EffectOf<'tool'>): boolean {
    const handed = this.owner.handOut(effect);
    if (handed === null) return false;
    const { timeoutMs, outcome } = handed;
    if (timeoutMs !== null) this.sleepUntil(effect.key, this.at + timeoutMs, outcome);
    return true;
  }

  private askForChild(effect: EffectOf<'tool'>): boolean {
    return this.owner.children.ask(effect, (begin) => {
      // Performing the call answers that the budget is spent.
      if (begin === null) this.granted.set(effect.key, effect);
      else this.awaitChild(effect, begin(this.at));
    });
  }

  /** A sub-agent whose call was aborted is awaited too, under a key of its own. */
  private awaitChild(effect: EffectOf<'tool'>, { invocation, ended }: BegunChild): void {
    this.core.running.set(effect.key, new RunningEffect(effect, this.at));
    this.steps.add(
      childKey(effect),
      invocation,
      (result): Arrival => ({ kind: 'child', effect, ended: () => ended(result) }),
      (why) => ({ kind: 'child', effect, ended: () => ended(why) }),
    );
  }

  private awaitMessage(): void {
    this.messages += 1;
    const next = this.context.promise<TimedMessage>(messageName(this.messages)).get();
    this.await(messageKey, next, (given) => ({ kind: 'message', given }));
  }

  /** Awaits a step among the others. A step that the engine itself failed is a defect of its effect. */
  private await<T>(key: string, step: RestatePromise<T>, arrived: (value: T) => Arrival): void {
    this.steps.add(key, step, arrived, (defect) => ({ kind: 'ended', delivery: { key, at: this.at, defect } }));
  }

  private async takeNext(): Promise<void> {
    const arrival = await this.steps.next();
    if (arrival !== null) await this.take(arrival);
  }

  private async take(arrival: Arrival): Promise<void> {
    switch (arrival.kind) {
      case 'ended':
        this.steps.drop(arrival.delivery.key);
        this.queue.push(arrival.delivery);
        return;
      case 'child':
        await this.takeChild(arrival);
        return;
      case 'message':
        this.awaitMessage();
        this.receive(arrival.given);
        return;
      default:
        arrival satisfies never;
    }
  }

  private receive({ at, message }: TimedMessage): void {
    this.at = Math.max(this.at, at);
    this.owner.receive(message);
  }

  private async takeChild({ effect, ended }: Extract<Arrival, { kind: 'child' }>): Promise<void> {
    const { key } = effect;
    // Another sub-agent may begin now.
    this.at = Math.max(this.at, await this.steps.now());
    this.steps.drop(childKey(effect));
    const outcome = ended();
    if (!this.core.running.has(key)) return;
    if (outcome === null) this.granted.set(key, effect);
    else this.answer(key, outcome);
  }

  /** An effect has ended or was cancelled. A sub-agent that still runs is aborted. */
  private settled(key: string): void {
    this.steps.drop(key);
    this.granted.delete(key);
    this.owner.children.cancel(key);
  }

  async writeLines(): Promise<void> {
    const write = this.owner.takeLines();
    if (write === null) return;
    // Like an effect, a line is written at most once.
    const mark = await this.steps.completed(this.context.run('mark lines', () => this.nonce));
    const written = () => (mark === this.nonce ? write() : undefined);
    await this.steps.completed(this.context.run('lines', written));
  }
}

/** Only the backoff after a model request uses the chance. */
const noChance = 0.5;

const messageKey = 'message';

function childKey({ key }: Effect): string {
  return `child ${key}`;
}

export function messageName(number: number): string {
  return `message-${number}`;
}

/** Whether the engine has replayed its journal. Every context has this method, but its type does not declare it. */
export function isProcessing(context: object): boolean {
  return !('isProcessing' in context) || typeof context.isProcessing !== 'function' || context.isProcessing() === true;
}
