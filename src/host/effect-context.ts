import type { EffectContext } from './driver.ts';

/** An effect under way. Its signal is created on first use, because many effects never use it. */
export class RunningEffect implements EffectContext {
  readonly key: string;
  readonly since: number;
  cancelled = false;
  private controller: AbortController | null = null;

  constructor(key: string, since: number) {
    this.key = key;
    this.since = since;
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
