import { z } from 'zod';
import type { JsonObject, Message } from '../../machines/index.ts';
import type { Perform } from '../host/driver.ts';
import { onRejection, shown } from '../input/errors.ts';
import { hasMethods } from '../input/shapes.ts';
import type { Metadata } from '../vocabulary/metadata.ts';
import type { SessionEvent } from './events.ts';

/** Watches sessions and surrounds their work with spans, such as `openTelemetry()` from `pawl/otel`. */
export type Telemetry = {
  session(about: TelemetrySession): SessionTelemetry;
  /** Called when a run of a workflow begins, with the name of its backlog; `at` is epoch ms. */
  run?(about: { name: string; at: number }): RunTelemetry;
};

export type RunTelemetry = {
  /** Performs work of the run, such as a session. */
  around<Result>(work: () => Result): Result;
  /** The run ended at this time (epoch ms), so. */
  ended(at: number, status: 'succeeded' | 'failed' | 'aborted'): void;
};

export const aTelemetry = z.custom<Telemetry>((value) => hasMethods(value, 'session'), {
  error: 'what openTelemetry() of pawl/otel returns',
});

export type TelemetrySession = {
  sessionId: string;
  agent: string;
  metadata: Metadata;
  /** The call of the session above, for a sub-agent. */
  parent: { sessionId: string; callId: string } | null;
  /** The conversation, without secrets. */
  messages: () => readonly Message[];
  /** The current turn's instructions with secrets removed; null if it has none. */
  instructions: () => string | null;
  /** The input of a call in the current reply, by its index, without secrets. */
  input: (index: number) => JsonObject;
};

export type SessionTelemetry = {
  /**
   * Receives the events of the session and, with a `path` that is not empty, those of its sub-agents, live. Each sub-agent's
   * events also reach its own telemetry.
   */
  event(event: SessionEvent): void;
  /** Performs the work of the effect that has this key. */
  around<Result>(key: string, work: () => Promise<Result>): Promise<Result>;
};

/** A telemetry whose failures do not harm the session. `event` throws or returns them, so they are reported like any listener's. */
export class GuardedTelemetry implements Pick<SessionTelemetry, 'event'> {
  private own: SessionTelemetry | null = null;
  private failure: { error: unknown } | null = null;

  constructor(telemetry: Telemetry, about: TelemetrySession) {
    this.guarded(() => {
      const own: unknown = telemetry.session(about);
      // A promise is refused, however it settles.
      onRejection(own, () => undefined);
      if (!isSessionTelemetry(own))
        throw new Error(`\`session()\` must return an object with \`event\` and \`around\`; got ${shown(own)}.`);
      this.own = own;
    });
  }

  event(event: SessionEvent): unknown {
    const { failure } = this;
    this.failure = null;
    if (failure !== null) throw failure.error;
    return this.own?.event(event);
  }

  /** Performs each effect with its span active, or without a span after a failure. */
  performing(perform: Perform): Perform {
    return (effect, context) => {
      let begun: ReturnType<Perform> | null = null;
      let ownFailure: unknown;
      const work = () => {
        begun ??= perform(effect, context);
        onRejection(begun, (error) => {
          ownFailure = error;
        });
        return begun;
      };
      this.guarded(() => {
        const returned = this.own?.around(effect.key, work);
        if (returned === begun) return;
        // The host handles a failure of the work itself.
        onRejection(returned, (error) => {
          if (error !== ownFailure) this.failed(error);
        });
      });
      return work();
    };
  }

  private guarded(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.failed(error);
    }
  }

  /** Disables the telemetry. */
  private failed(error: unknown): void {
    this.own = null;
    this.failure = { error };
  }
}

function isSessionTelemetry(own: unknown): own is SessionTelemetry {
  return hasMethods(own, 'event', 'around');
}
