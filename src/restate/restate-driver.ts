import { RestatePromise, type TerminalError, type WorkflowContext } from '@restatedev/restate-sdk';
import type { Delivery, Effect, EffectKind, EffectKinds, Json, SessionCommand } from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
import type { Driver, DriverOwner, Perform } from '../host/driver.ts';
import { RunningEffect } from '../host/effect-context.ts';
import type { Host, KeyedDelivery } from '../host/host.ts';
import type { SessionMessage } from '../journal/journal.ts';
import type { RestateChildren, RestateOwner, TimedMessage } from './restate-owner.ts';

type Outcome = EffectKinds[EffectKind]['outcome'];

/** What Restate gives back: one of these a time. */
type Arrival =
  | { kind: 'ended'; key: string; delivery: KeyedDelivery }
  | { kind: 'message'; at: number; message: SessionMessage }
  | { kind: 'child'; key: string; result: Json }
  | { kind: 'lost'; key: string; why: string };

/**
 * The driver on Restate: each effect is a durable step, each wait a durable sleep, each message a durable promise. The
 * engine journals the order in which they end; a replay takes the same steps again (D-1, D-3). An effect is marked in a
 * step of its own before it begins, so that one that had begun and not ended is not performed again (D-4).
 */
export class RestateDriver implements Driver {
  private readonly context: WorkflowContext;
  /** Tells this attempt of the engine from earlier ones. */
  private readonly nonce: string;
  private attached: { host: Host; perform: Perform; owner: DriverOwner } | null = null;
  private pending: Effect[] = [];
  /** Calls of sub-agents that are now performed like any other effect. */
  private granted: Effect[] = [];
  private readonly queue: Delivery[] = [];
  private readonly arriving = new Map<string, RestatePromise<Arrival>>();
  private readonly running = new Map<string, { effect: Effect; running: RunningEffect }>();
  private messages = 0;
  private at: number;
  private isLive = false;
  /** Resolves when the tools are open in this process. */
  private opened: Promise<void> | null = null;

  constructor(context: WorkflowContext, nonce: string, at: number) {
    this.context = context;
    this.nonce = nonce;
    this.at = at;
  }

  attach(host: Host, perform: Perform, owner: DriverOwner): this {
    this.attached = { host, perform, owner };
    return this;
  }

  start(startTree: () => void): void {
    startTree();
    this.drain();
  }

  command(event: SessionCommand): void {
    this.queue.push({ at: this.at, event });
  }

  answer(key: string, outcome: Outcome): void {
    this.queue.push({ key, at: this.at, chance: middle, outcome: outcome as Json });
  }

  /** Drives the session to its end. */
  async drive(owner: RestateOwner): Promise<void> {
    this.awaitMessage();
    for (;;) {
      for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
        this.deliver(next, owner);
        await this.writeLines(owner);
      }
      if (owner.hasEnded()) return;
      await this.beginAll(owner);
      if (this.queue.length > 0 || this.granted.length > 0) continue;
      if (!this.isLive && isProcessing(this.context)) {
        this.isLive = true;
        owner.goLive();
      }
      this.take(await this.next(), owner);
    }
  }

  /** Aborts what still runs: this attempt of the engine is over. */
  release(): void {
    for (const { running } of this.running.values()) running.cancel();
  }

  private get parts() {
    if (this.attached === null) throw new Error('the driver is not attached to a host');
    return this.attached;
  }

  private async beginAll(owner: RestateOwner): Promise<void> {
    const { pending } = this;
    this.pending = [];
    const performed: Effect[] = [];
    for (const effect of pending) {
      if (effect.kind === 'wait') this.sleepUntil(effect.key, effect.request.dueAt);
      else if (effect.kind === 'approval') this.waitForApproval(effect);
      else if (owner.children.isOne(effect)) this.askForChild(effect, owner);
      else performed.push(effect);
    }
    owner.children.share();
    performed.push(...this.granted);
    this.granted = [];
    await this.performAll(performed, owner);
  }

  /** Marks effects, durably, and begins them. */
  private async performAll(effects: readonly Effect[], owner: RestateOwner): Promise<void> {
    if (effects.length === 0) return;
    const keys = effects.map(({ key }) => key).join(' ');
    const mark = await this.context.run(`mark ${keys}`, () => this.nonce);
    for (const effect of effects) this.perform(effect, mark === this.nonce, owner);
  }

  private perform(effect: Effect, isOurs: boolean, { policy, openTools }: RestateOwner): void {
    const { perform, owner } = this.parts;
    const { key } = effect;
    const running = new RunningEffect(key, this.at);
    this.running.set(key, { effect, running });
    const act = async (): Promise<KeyedDelivery> => {
      const ended = (outcome: Outcome) => ({ key, at: owner.now(), chance: owner.chance(), outcome: outcome as Json });
      // In another process they were open. A failure is the engine's, which tries again (D-5).
      if (effect.kind === 'prepare' || effect.kind === 'close') this.opened ??= Promise.resolve();
      this.opened ??= openTools();
      await this.opened.catch((error) => {
        this.opened = null;
        throw error;
      });
      const interrupted = isOurs ? null : policy.interrupted(effect);
      if (interrupted !== null) return ended(interrupted);
      try {
        return ended(await perform(effect, running));
      } catch (error) {
        return { key, at: owner.now(), defect: owner.describeDefect(error) };
      }
    };
    const arrival = this.context
      .run(key, act)
      .map(
        (delivery, failure): Arrival =>
          delivery === undefined ? { kind: 'lost', key, why: whyOf(failure) } : { kind: 'ended', key, delivery },
      );
    this.arriving.set(key, arrival);
  }

  private sleepUntil(key: string, dueAt: number, outcome: Json = {}): void {
    const delivery: KeyedDelivery = { key, at: Math.max(this.at, dueAt), chance: middle, outcome };
    const slept = this.context.sleep(Math.max(0, dueAt - this.at), key);
    this.arriving.set(
      key,
      slept.map((): Arrival => ({ kind: 'ended', key, delivery })),
    );
  }

  /** The decision comes as a message; here it only times out. */
  private waitForApproval(effect: Effect): void {
    const { limitMs } = this;
    if (limitMs !== null) this.sleepUntil(effect.key, this.at + limitMs, { decision: 'timeout', reason: null });
  }

  /** How long an approval is waited for, in ms; null for ever. */
  limitMs: number | null = null;

  private askForChild(effect: Effect, { children }: RestateOwner): void {
    const { key } = effect;
    this.running.set(key, { effect, running: new RunningEffect(key, this.at) });
    children.ask(effect, (result) => {
      if (!this.running.has(key)) return;
      // Without a place in the budget, performing the call says so.
      if (result === null) this.granted.push(effect);
      else
        this.arriving.set(
          key,
          result.map((given): Arrival => ({ kind: 'child', key, result: given ?? null })),
        );
    });
  }

  private awaitMessage(): void {
    this.messages += 1;
    const next = this.context.promise<TimedMessage>(messageName(this.messages)).get();
    this.arriving.set(
      messageKey,
      next.map((given): Arrival => {
        return given === undefined
          ? { kind: 'lost', key: messageKey, why: 'a message could not be read' }
          : { kind: 'message', ...given };
      }),
    );
  }

  private async next(): Promise<Arrival> {
    try {
      return await RestatePromise.race([...this.arriving.values()]);
    } catch (error) {
      // The invocation was cancelled.
      const at = await this.context.date.now();
      return { kind: 'message', at, message: { type: 'session.abort', reason: messageOf(error) } };
    }
  }

  private take(arrival: Arrival, owner: RestateOwner): void {
    switch (arrival.kind) {
      case 'ended':
        this.arriving.delete(arrival.key);
        this.queue.push(arrival.delivery);
        return;
      case 'lost':
        this.arriving.delete(arrival.key);
        this.queue.push({ key: arrival.key, at: this.at, defect: arrival.why });
        return;
      case 'child': {
        this.arriving.delete(arrival.key);
        const effect = this.running.get(arrival.key)?.effect;
        if (effect === undefined) return;
        owner.children.ended(effect, arrival.result);
        this.granted.push(effect);
        return;
      }
      case 'message':
        this.at = Math.max(this.at, arrival.at);
        this.awaitMessage();
        owner.receive(arrival.message);
        return;
      default:
        arrival satisfies never;
    }
  }

  private deliver(delivery: Delivery, { children }: RestateOwner): void {
    const { host, owner } = this.parts;
    this.at = Math.max(this.at, delivery.at);
    owner.delivering(delivery);
    if ('event' in delivery && delivery.event.type === 'session.stop') children.send(delivery.event);
    if ('event' in delivery) owner.command(delivery.event);
    else if (host.deliver(delivery)) this.settle(delivery.key, children);
    else owner.late(delivery.key);
    this.drain(children);
  }

  private drain(children?: RestateChildren): void {
    const { start, cancel } = this.parts.host.drain();
    for (const key of cancel) this.settle(key, children);
    this.pending.push(...start);
  }

  private settle(key: string, children?: RestateChildren): void {
    this.pending = this.pending.filter((effect) => effect.key !== key);
    this.arriving.delete(key);
    const known = this.running.get(key);
    known?.running.cancel();
    if (known !== undefined && children?.isOne(known.effect)) children.send(aborted, known.effect);
    this.running.delete(key);
  }

  private async writeLines({ lines }: RestateOwner): Promise<void> {
    const write = lines.take();
    if (write === null) return;
    // A line is written at most once, like any effect.
    const mark = await this.context.run('mark lines', () => this.nonce);
    await this.context.run('lines', () => (mark === this.nonce ? write() : undefined), { maxRetryAttempts: 1 });
  }
}

/** Chance matters for the backoff after a request alone. */
const middle = 0.5;

const aborted: SessionMessage = { type: 'session.abort', reason: 'its call was aborted' };

const messageKey = 'message';

export function messageName(number: number): string {
  return `message-${number}`;
}

function whyOf(failure: TerminalError | undefined): string {
  return failure === undefined ? 'the engine gave no result' : messageOf(failure);
}

/** Whether the engine has replayed its journal. Contexts have this method, though their type lacks it. */
export function isProcessing(context: object): boolean {
  return !('isProcessing' in context) || typeof context.isProcessing !== 'function' || context.isProcessing() === true;
}
