/** Work that has begun, so that one can wait for its end. */
export class Underway {
  private readonly working = new Set<Promise<unknown>>();

  /** Begins work. Settles as it does. */
  during<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = work().finally(() => this.working.delete(done));
    this.working.add(done);
    return done;
  }

  /** Resolves when none is left, whether it failed or not. */
  async ended(): Promise<void> {
    while (this.working.size > 0) await Promise.allSettled(this.working);
  }
}
