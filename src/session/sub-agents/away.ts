import type { SessionResult } from '../session.ts';

/** The sub-agents of a session that run elsewhere, by the ids of their calls. Whoever begins one must also end it. */
export class Away {
  private readonly ended: Map<string, Promise<SessionResult>>;
  private readonly ends = new Map<string, PromiseWithResolvers<void>>();

  /** The results go to `ended`. */
  constructor(ended: Map<string, Promise<SessionResult>>) {
    this.ended = ended;
  }

  begin(callId: string): void {
    this.ends.set(callId, Promise.withResolvers());
  }

  /** A sub-agent has ended: its call gives this result, or none. */
  end(callId: string, result: SessionResult | null): void {
    if (result !== null) this.ended.set(callId, Promise.resolve(result));
    this.ends.get(callId)?.resolve();
  }

  /** Resolves when all have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.ends.values()].map(({ promise }) => promise));
  }
}
