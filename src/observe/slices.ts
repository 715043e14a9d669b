import { onRejection } from '../input/errors.ts';
import { eventCopy, type Fold, type SessionEvent } from './events.ts';

/** User-defined state, folded over the session's events, including failed tools (C-4). */
export type Slice<S = unknown> = { initial: S; reduce(state: S, event: SessionEvent): S };

/** Defines a slice. `reduce` must not mutate `state`; it does not get `model.delta`. */
export function slice<S>(initial: S, reduce: (state: S, event: SessionEvent) => S): Slice<S> {
  return { initial, reduce };
}

/** The slices of one session. If a reducer throws, it is not called again and its slice keeps the last state. */
export class Slices implements Fold {
  readonly states: Record<string, unknown> = {};
  private reducers: { name: string; reduce: Slice['reduce'] }[];
  private readonly onFailure: (observer: string, error: unknown) => void;

  constructor(slices: Record<string, Slice>, onFailure: (observer: string, error: unknown) => void) {
    this.reducers = Object.entries(slices).map(([name, { reduce }]) => ({ name, reduce }));
    for (const [name, { initial }] of Object.entries(slices)) this.states[name] = initial;
    this.onFailure = onFailure;
  }

  get isIdle(): boolean {
    return this.reducers.length === 0;
  }

  event(event: SessionEvent): void {
    if (event.path.length > 0) return;
    for (const { name, reduce } of this.reducers) {
      try {
        const state = reduce(this.states[name], eventCopy(event));
        if (state instanceof Promise) {
          onRejection(state, () => undefined);
          throw new TypeError('a reducer must return its state, not a promise');
        }
        this.states[name] = state;
      } catch (error) {
        this.reducers = this.reducers.filter((reducer) => reducer.name !== name);
        this.onFailure(`slice ${name}`, error);
      }
    }
  }
}
