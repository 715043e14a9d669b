import type { Json } from '../../machines/index.ts';
import type { Clock } from '../host/clock.ts';

/** The answer to a question: an object of the schema that was asked for. `isError`: nobody gives one. */
export type UserReply = { output: Json; isError: boolean };

/** The questions of running calls to the user, by call id: a call asks one at a time. */
export class Questions {
  private readonly open = new Map<string, (reply: UserReply) => void>();

  /** Resolves with the reply, or with none after `timeoutMs` or when the call is aborted. */
  async ask(callId: string, clock: Clock, timeoutMs: number | null, signal: AbortSignal): Promise<UserReply> {
    const { promise, resolve } = Promise.withResolvers<UserReply>();
    const nobody = () => resolve({ output: 'Nobody answered.', isError: true });
    const cancel = timeoutMs === null ? () => {} : clock.alarm(timeoutMs, nobody);
    signal.addEventListener('abort', nobody, { once: true });
    if (signal.aborted) nobody();
    this.open.set(callId, resolve);
    try {
      return await promise;
    } finally {
      this.open.delete(callId);
      signal.removeEventListener('abort', nobody);
      cancel();
    }
  }

  /** Returns false if the call asks nothing. */
  reply(callId: string, reply: UserReply): boolean {
    const take = this.open.get(callId);
    take?.(reply);
    return take !== undefined;
  }
}
