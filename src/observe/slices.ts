import { messageOf, onRejection } from '../errors.ts';
import type { SessionEvent } from './events.ts';

/** A piece of state of the user's own, folded over the session's events (C-4: failed tools are among them). */
export type Slice<S = unknown> = { initial: S; reduce(state: S, event: SessionEvent): S };

/** Defines a slice. `reduce` must not change `state` in place; it does not see `model.delta`. */
export function slice<S>(initial: S, reduce: (state: S, event: SessionEvent) => S): Slice<S> {
  return { initial, reduce };
}

/** The slices of one session. A reducer that throws keeps its last state and is not called again. */
export class Slices {
  readonly states: Record<string, unknown> = {};
  private reducers: { name: string; reduce: Slice['reduce'] }[];
  private readonly onFailure: (observer: string, message: string) => void;

  constructor(slices: Record<string, Slice>, onFailure: (observer: string, message: string) => void) {
    this.reducers = Object.entries(slices).map(([name, { reduce }]) => ({ name, reduce }));
    for (const [name, { initial }] of Object.entries(slices)) this.states[name] = initial;
    this.onFailure = onFailure;
  }

  apply(event: SessionEvent): void {
    for (const { name, reduce } of this.reducers) {
      try {
        const state = reduce(this.states[name], event);
        if (state instanceof Promise) {
          onRejection(state, () => undefined);
          throw new TypeError('a reducer returned a promise: it must return the state itself');
        }
        this.states[name] = state;
      } catch (error) {
        this.reducers = this.reducers.filter((reducer) => reducer.name !== name);
        this.onFailure(`slice ${name}`, messageOf(error));
      }
    }
  }
}
