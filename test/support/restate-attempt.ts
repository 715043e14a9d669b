import { TerminalError } from '@restatedev/restate-sdk';
import type { Invocation } from './restate-engine.ts';

/** A command's outcome. */
export type Completion = { value?: unknown; failure?: TerminalError };

/** Begins a command that has no completion yet. */
type Begin = (complete: (completion: Completion) => void, command: number) => unknown;

/** How a value becomes bytes, and a value again. */
type Serde = { serialize(value: unknown): Uint8Array; deserialize(data: Uint8Array): unknown };
type Call = { method: string; key: string; parameter: unknown; inputSerde: Serde; outputSerde: Serde };

const sentWith = (serde: Serde, value: unknown) => serde.deserialize(serde.serialize(value));

const never = new Promise<never>(() => {});

/** A value as Restate keeps it. */
export const stored = (value: unknown) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/**
 * A promise of one command in one attempt, awaited with `race`. As in Restate, commands are completed only while something
 * is awaited.
 */
export class EnginePromise<T> {
  readonly attempt: Attempt;
  readonly command: number;
  readonly outcome: (completion: Completion) => T;

  constructor(attempt: Attempt, command: number, outcome: (completion: Completion) => T) {
    this.attempt = attempt;
    this.command = command;
    this.outcome = outcome;
  }

  map<U>(mapper: (value?: T, failure?: TerminalError) => U): EnginePromise<U> {
    return new EnginePromise(this.attempt, this.command, (completion) => {
      let value: T;
      try {
        value = this.outcome(completion);
      } catch (error) {
        if (error instanceof TerminalError) return mapper(undefined, error);
        throw error;
      }
      return mapper(value);
    });
  }

  static async race<T>(promises: readonly EnginePromise<T>[]): Promise<T> {
    const [first] = promises;
    if (first === undefined) throw new Error('nothing is awaited');
    const { command, completion } = await first.attempt.firstOf(promises.map((one) => one.command));
    const found = promises.find((one) => one.command === command);
    if (found === undefined) throw new Error(`command ${command} is not awaited`);
    return found.outcome(completion);
  }
}

/** Stands for a command in the notification of a cancellation. */
export const cancellation = -1;

/** One try at an invocation: it replays what the journal holds, and goes on from there. Its handler has it as context. */
export class Attempt {
  readonly key: string;
  private readonly invocation: Invocation;
  private readonly ending = new AbortController();
  /** The next command's number. */
  private position = 0;
  /** How many notifications of the journal this attempt has read. */
  private read = 0;
  private readonly completed = new Map<number, Completion>();
  private readonly waiting = new Map<number, Begin>();
  private wake: () => void = () => {};

  constructor(invocation: Invocation) {
    this.invocation = invocation;
    this.key = invocation.key;
  }

  get isOver(): boolean {
    return this.ending.signal.aborted;
  }

  end(): void {
    this.ending.abort();
  }

  notified(): void {
    this.wake();
  }

  /** Awaits the first of these commands, in the order of the journal. Rejects if the invocation was cancelled before. */
  async firstOf(commands: readonly number[]): Promise<{ command: number; completion: Completion }> {
    const { notifications } = this.invocation;
    for (;;) {
      await new Promise(setImmediate);
      if (this.isOver) return never;
      const ready = commands.find((command) => this.completed.has(command));
      if (ready !== undefined) return { command: ready, completion: this.completed.get(ready) ?? {} };
      const next = notifications[this.read];
      if (next !== undefined) {
        this.read += 1;
        if (next.command === cancellation) throw new TerminalError('Cancelled', { errorCode: 409 });
        this.completed.set(next.command, next.completion);
        continue;
      }
      const begun = commands.find((command) => this.waiting.has(command));
      if (begun === undefined) {
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      } else this.begin(begun);
    }
  }

  isProcessing(): boolean {
    return this.position >= this.invocation.commands.length;
  }

  request() {
    return { attemptCompletedSignal: this.ending.signal };
  }

  readonly date = { now: () => EnginePromise.race([this.run('now', () => this.invocation.engine.now())]) };

  run(name: string, action: () => unknown) {
    const { engine } = this.invocation;
    const failed = (error: unknown) => {
      if (error instanceof TerminalError) return { failure: error };
      return engine.givesUp ? { failure: new TerminalError(String(error)) } : null;
    };
    return this.command(`run ${name}`, async (complete) => {
      engine.acting += 1;
      try {
        complete({ value: stored(await action()) });
      } catch (error) {
        const failure = failed(error);
        if (failure !== null) complete(failure);
        else if (!this.isOver) this.invocation.again(error);
      }
      engine.acting -= 1;
    });
  }

  sleep(ms: number, name: string) {
    return this.command(`sleep ${name} ${ms}`, (complete) => this.invocation.engine.alarm(ms, () => complete({})));
  }

  promise(name: string) {
    const { engine, key } = this.invocation;
    const promises = engine.promisesOf(key);
    return {
      get: () => this.command(`get ${name}`, (complete) => promises.whenResolved(name, (value) => complete({ value }))),
      resolve: (value: unknown) =>
        EnginePromise.race([
          this.command(`resolve ${name} ${JSON.stringify(value)}`, (complete) =>
            complete(
              promises.resolve(name, stored(value), this.invocation)
                ? {}
                : { failure: new TerminalError('Promise was already resolved', { errorCode: 409 }) },
            ),
          ),
        ]),
    };
  }

  genericCall({ method, key, parameter, inputSerde, outputSerde }: Call) {
    const sent = sentWith(inputSerde, parameter);
    return this.command(`call ${method} ${key} ${JSON.stringify(sent)}`, (complete, command) =>
      this.invocation.calledBy(command, method, key, sent).whenEnded(({ value, failure }) => {
        complete(failure === undefined ? { value: sentWith(outputSerde, value) } : { failure });
      }),
    );
  }

  genericSend({ method, key, parameter: given, inputSerde }: Call): void {
    const parameter = sentWith(inputSerde, given);
    const what = `send ${method} ${key} ${JSON.stringify(parameter)}`;
    // It is begun at once: nothing is awaited.
    const { command } = this.command(what, (complete, own) => {
      this.invocation.calledBy(own, method, key, parameter);
      complete({});
    });
    if (this.waiting.has(command)) this.begin(command);
  }

  private begin(command: number): void {
    const begin = this.waiting.get(command);
    this.waiting.delete(command);
    begin?.((completion) => {
      if (!this.isOver) this.invocation.complete(command, completion);
    }, command);
  }

  private command(what: string, begin: Begin): EnginePromise<unknown> {
    const number = this.position;
    const promise = new EnginePromise(this, number, ({ value, failure }) => {
      if (failure !== undefined) throw failure;
      return value;
    });
    if (this.isOver) return promise;
    this.position += 1;
    if (this.invocation.commanded(number, what) && !this.invocation.isComplete(number)) this.waiting.set(number, begin);
    return promise;
  }
}
