import { RestatePromise, type TerminalError, type WorkflowContext } from '@restatedev/restate-sdk';
import { messageOf } from '../input/errors.ts';

/**
 * The engine's steps that a session awaits, each mapped to what it brings on completion. The engine reports that the
 * invocation was cancelled to whoever awaits a step at that moment. The steps themselves go on.
 */
export class AwaitedSteps<Arrival> {
  private readonly context: WorkflowContext;
  private readonly cancelled: (at: number, reason: string) => void;
  private readonly steps = new Map<string, RestatePromise<Arrival>>();

  /** `cancelled` is called with the time (epoch ms) and the reason, in the same order in every replay. */
  constructor(context: WorkflowContext, cancelled: (at: number, reason: string) => void) {
    this.context = context;
    this.cancelled = cancelled;
  }

  /** Adds a step. `arrived` maps its value, `failed` maps the engine's reason for failing it; neither may throw. */
  add<T>(key: string, step: RestatePromise<T>, arrived: (value: T) => Arrival, failed: (why: string) => Arrival): void {
    this.steps.set(
      key,
      step.map((value, failure) => (failure === undefined ? arrived(value as T) : failed(messageOf(failure)))),
    );
  }

  drop(key: string): void {
    this.steps.delete(key);
  }

  /** The time in epoch ms, the same in every replay. */
  now(): Promise<number> {
    return this.completed(this.context.run('now', () => Date.now()));
  }

  /** Awaits the first of the steps. Returns null if the invocation was cancelled before. */
  next(): Promise<Arrival | null> {
    return this.first([...this.steps.values()]);
  }

  /** Awaits one step that is not among the others. Throws the step's failure. */
  async completed<T>(step: RestatePromise<T>): Promise<T> {
    const settled = step.map((value, failure): Settled<T> => ({ value, failure }));
    for (;;) {
      const one = await this.first([settled]);
      if (one === null) continue;
      if (one.failure !== undefined) throw one.failure;
      return one.value as T;
    }
  }

  private async first<T>(steps: readonly RestatePromise<T>[]): Promise<T | null> {
    try {
      return await RestatePromise.race(steps);
    } catch (error) {
      // Every step's failure is mapped to a value, so this is the cancellation.
      this.cancelled(await this.now(), messageOf(error));
      return null;
    }
  }
}

type Settled<T> = { value: T | undefined; failure: TerminalError | undefined };
