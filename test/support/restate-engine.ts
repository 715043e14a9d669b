import { TerminalError } from '@restatedev/restate-sdk';
import { Attempt, type Completion, cancellation, stored } from './restate-attempt.ts';

type Handler = (context: never, parameter: never) => Promise<unknown>;

/** Turns of the event loop without a step, after which an invocation hangs. */
const mostIdle = 50_000;

/** One run of a handler, with the journal that outlives its attempts. */
export class Invocation {
  readonly engine: RestateEngine;
  readonly method: string;
  readonly key: string;
  private readonly parameter: unknown;
  readonly commands: string[] = [];
  /** The completions and the cancellation, in the order in which they came. */
  readonly notifications: { command: number; completion: Completion }[] = [];
  private attempt: Attempt | null = null;
  private end: Completion | null = null;
  private readonly listeners: ((end: Completion) => void)[] = [];
  /** The invocations that its commands have called. */
  private readonly called = new Map<number, Invocation>();
  private failures = 0;

  constructor(engine: RestateEngine, method: string, key: string, parameter: unknown) {
    this.engine = engine;
    this.method = method;
    this.key = key;
    this.parameter = stored(parameter);
  }

  start(): void {
    const attempt = new Attempt(this);
    this.attempt = attempt;
    const ended = (end: Completion) => {
      if (attempt.isOver || this.engine.step()) return;
      attempt.end();
      this.end = end;
      for (const listener of this.listeners) listener(end);
    };
    this.engine
      .handlerOf(this.method)(attempt as never, stored(this.parameter) as never)
      .then(
        (value) => ended({ value: stored(value) }),
        (error) => {
          if (error instanceof TerminalError) ended({ failure: error });
          else if (!attempt.isOver) this.again(error);
        },
      );
  }

  /** The attempt is over: the process died, or lost its connection. Another one begins. */
  die(): void {
    if (this.end !== null) return;
    this.attempt?.end();
    setImmediate(() => this.start());
  }

  /** The attempt failed, and is tried again. */
  again(error: unknown): void {
    this.failures += 1;
    if (this.failures > 5) this.engine.problems.push(`${this.method} ${this.key} fails again and again: ${error}`);
    else this.die();
  }

  get hasEnded(): boolean {
    return this.end !== null;
  }

  get result(): unknown {
    return this.end?.value;
  }

  /** Cancels this invocation and those that it has called. */
  cancel(): void {
    if (this.end !== null) return;
    this.notify(cancellation, {});
    for (const called of this.called.values()) if (called.method === 'run') called.cancel();
  }

  /** Returns the invocation that a command calls, once for all attempts. */
  calledBy(command: number, method: string, key: string, parameter: unknown): Invocation {
    const called = this.called.get(command) ?? this.engine.call(method, key, parameter);
    this.called.set(command, called);
    return called;
  }

  whenEnded(listener: (end: Completion) => void): void {
    if (this.end === null) this.listeners.push(listener);
    else listener(this.end);
  }

  /** Writes down a command, or compares it with the journal. Returns whether the attempt goes on. */
  commanded(number: number, what: string): boolean {
    const known = this.commands[number];
    if (known === undefined) {
      this.commands.push(what);
      return !this.engine.step();
    }
    if (known === what) return true;
    this.engine.problems.push(`${this.method} ${this.key}: command ${number} was "${known}", and is "${what}"`);
    this.attempt?.end();
    return false;
  }

  isComplete(command: number): boolean {
    return this.notifications.some((one) => one.command === command);
  }

  complete(command: number, completion: Completion): void {
    if (this.isComplete(command) || this.engine.step()) return;
    this.notify(command, completion);
  }

  private notify(command: number, completion: Completion): void {
    this.notifications.push({ command, completion });
    if (!this.engine.step()) this.attempt?.notified();
  }
}

/** The durable promises of one workflow. The same command can resolve one twice, in two attempts. */
class Promises {
  private readonly values = new Map<string, { value: unknown; by: Invocation }>();
  private readonly listeners: { name: string; resolved: (value: unknown) => void }[] = [];

  valueOf(name: string): unknown {
    return this.values.get(name)?.value;
  }

  resolve(name: string, value: unknown, by: Invocation): boolean {
    const known = this.values.get(name);
    if (known !== undefined) return known.by === by;
    this.values.set(name, { value, by });
    for (const listener of this.listeners) if (listener.name === name) listener.resolved(value);
    return true;
  }

  whenResolved(name: string, resolved: (value: unknown) => void): void {
    if (this.values.has(name)) resolved(this.valueOf(name));
    else this.listeners.push({ name, resolved });
  }
}

/**
 * Restate in this process: it keeps journals, completes commands in one order, and replays them after a death. Every
 * entry of a journal is a step, after which the process that serves the workflow can die.
 */
export class RestateEngine {
  /** What the engine refuses: commands that differ in a replay, and attempts that fail again and again. */
  readonly problems: string[] = [];
  steps = 0;
  /** Whether it was set up to fail a step instead of repeating it. */
  givesUp = false;
  /** How many actions of steps are under way. */
  acting = 0;
  private readonly handlers: Record<string, Handler>;
  private readonly atStep: (step: number) => boolean;
  private readonly invocations: Invocation[] = [];
  private readonly alarms: (() => void)[] = [];
  private readonly promises = new Map<string, Promises>();

  /** `atStep` returns whether the process dies after this step. */
  constructor(handlers: Record<string, Handler>, atStep: (step: number) => boolean = () => false) {
    this.handlers = handlers;
    this.atStep = atStep;
  }

  /** Starts an invocation. A workflow runs once. */
  call(method: string, key: string, parameter: unknown): Invocation {
    if (method === 'run' && this.runOf(key) !== undefined) this.problems.push(`${key} is run twice`);
    const invocation = new Invocation(this, method, key, parameter);
    this.invocations.push(invocation);
    setImmediate(() => invocation.start());
    return invocation;
  }

  /** Resolves with what a call returned. Rejects with its failure, or when the engine has refused something. */
  async returned(method: string, key: string, parameter: unknown): Promise<unknown> {
    let end: Completion | null = null;
    this.call(method, key, parameter).whenEnded((one) => {
      end = one;
    });
    let idle = 0;
    for (let { steps } = this; end === null && this.problems.length === 0; idle += 1) {
      if (this.steps !== steps || this.acting > 0) idle = 0;
      steps = this.steps;
      if (idle > mostIdle) this.problems.push(`${method} ${key} waits for nothing`);
      await new Promise(setImmediate);
    }
    const { value, failure }: Completion = end ?? { failure: new TerminalError(this.problems.join('\n')) };
    if (failure !== undefined) throw failure;
    return value;
  }

  /** How many invocations of a method there have been. */
  calls(method: string): number {
    return this.invocations.filter((one) => one.method === method).length;
  }

  /** What the workflow of a key has asked for, in order. */
  commands(key: string): readonly string[] {
    return this.runOf(key)?.commands ?? [];
  }

  /** What the workflow of a key has returned. */
  resultOf(key: string): unknown {
    return this.runOf(key)?.result;
  }

  /** The keys of a method's invocations that have not ended. */
  open(method: string): string[] {
    return this.invocations.flatMap((one) => (one.method === method && !one.hasEnded ? [one.key] : []));
  }

  now(): number {
    return Date.now();
  }

  /** A short sleep, such as a backoff, ends at once; a longer one with `timePasses`. */
  alarm(ms: number, ring: () => void): void {
    if (ms < 60_000) setImmediate(ring);
    else this.alarms.push(ring);
  }

  /** All limits of minutes and hours are reached. */
  timePasses(): void {
    for (const ring of this.alarms.splice(0)) setImmediate(ring);
  }

  cancel(key: string): void {
    this.runOf(key)?.cancel();
  }

  private runOf(key: string): Invocation | undefined {
    return this.invocations.find((one) => one.method === 'run' && one.key === key);
  }

  handlerOf(method: string): Handler {
    const handler = this.handlers[method];
    if (handler === undefined) throw new Error(`there is no handler ${method}`);
    return handler;
  }

  promisesOf(key: string): Promises {
    const known = this.promises.get(key) ?? new Promises();
    this.promises.set(key, known);
    return known;
  }

  /** Counts a step. Returns whether the process has died after it. */
  step(): boolean {
    this.steps += 1;
    if (!this.atStep(this.steps)) return false;
    for (const invocation of this.invocations) invocation.die();
    return true;
  }
}
