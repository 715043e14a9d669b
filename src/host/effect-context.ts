import type { Effect } from '../../machines/index.ts';
import type { EffectContext } from './driver.ts';

/** A running effect. Its signal is created on first use, because many effects never use it. */
export class RunningEffect implements EffectContext {
  readonly effect: Effect;
  readonly since: number;
  cancelled = false;
  private controller: AbortController | null = null;

  constructor(effect: Effect, since: number) {
    this.effect = effect;
    this.since = since;
  }

  get key(): string {
    return this.effect.key;
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.cancelled) this.controller.abort();
    return this.controller.signal;
  }

  cancel(): void {
    this.cancelled = true;
    this.controller?.abort();
  }
}
