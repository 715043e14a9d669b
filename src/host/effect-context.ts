import type { Effect } from '../../machines/index.ts';
import type { EffectContext } from './driver.ts';

/** A running effect. Its signal is created on first use, because many effects never use it. */
export class RunningEffect implements EffectContext {
  readonly effect: Effect;
  readonly since: number;
  readonly isAgain: boolean;
  cancelled = false;
  private controller: AbortController | null = null;
  private reason: unknown;

  constructor(effect: Effect, since: number, isAgain = false) {
    this.effect = effect;
    this.since = since;
    this.isAgain = isAgain;
  }

  get key(): string {
    return this.effect.key;
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.cancelled) this.controller.abort(this.reason);
    return this.controller.signal;
  }

  cancel(reason?: unknown): void {
    this.cancelled = true;
    this.reason = reason;
    this.controller?.abort(reason);
  }
}

/** The reason of an effect cut off because another process resumes the session: what it waits for must not be ended. */
export class LeftForLater extends Error {
  override readonly name = 'LeftForLater';

  constructor() {
    super('another process resumes the session');
  }
}
