import type { Effect, Failure, JsonObject } from '../../../machines/index.ts';
import type { JournaledDriver } from '../../host/journaled.ts';
import type { ResumedDriver } from '../../host/resumed.ts';
import type { ScopeLog } from '../../journal/scope-log.ts';
import type { SessionEvent } from '../../observe/events.ts';
import type { Observer } from '../../observe/observer.ts';
import { redact } from '../../secrets/redact.ts';
import type { Catalog } from '../../tools/catalog.ts';
import { interruptedOutcome } from './after-crash.ts';

/** What of a session takes part in its recovery. */
export type LifeParts = {
  observer: Observer;
  machine: { readonly hasEnded: boolean; leaveSignal(): void };
  /** Null for a session in memory. */
  journaled: JournaledDriver | ResumedDriver | null;
  /** Null for a session that is not resumed. */
  resumed: ResumedDriver | null;
  effects: {
    readonly catalog: Catalog;
    open(signal: AbortSignal): Promise<string | null>;
    leave(): Promise<void>;
  };
  subSessions: { grants: { suspend(): void } } | null;
  log: ScopeLog | null;
  secrets: readonly string[];
};

/** What a recovery or a suspension says of a session, and where it stands in the stream of events. */
export type LifeObserver = Pick<
  Observer,
  'position' | 'toldEnd' | 'moveTo' | 'goLive' | 'letGo' | 'silence' | 'sight' | 'userCodeFailed'
>;

/**
 * A session between processes: what recoveries, suspensions and drivers elsewhere do with each session of a tree (D-3,
 * D-4).
 */
export class SessionLife {
  readonly observer: LifeObserver;
  private readonly parts: LifeParts;
  /** The session was suspended: it begins, delivers and accepts nothing more. */
  isRetired = false;

  constructor(parts: LifeParts) {
    this.parts = parts;
    this.observer = parts.observer;
  }

  /** Whether its machines have ended, or their end was recorded. */
  get hasEnded(): boolean {
    return this.parts.machine.hasEnded || this.parts.observer.recordedEnd !== null;
  }

  get isOver(): boolean {
    return this.isRetired || this.hasEnded;
  }

  /** Ends a replay: takes the steps whose deliveries were written down, but not what followed from them. */
  catchUp(): void {
    this.parts.observer.endReplay();
    this.parts.resumed?.catchUp();
  }

  /** The keys of the effects that had begun and are not performed again, under the path of their sub-agent. */
  get interrupted(): string[] {
    const { log, resumed } = this.parts;
    const path = log === null || log.scope === '' ? '' : `${log.scope}/`;
    return (resumed?.interrupted ?? []).map((key) => path + key);
  }

  /** The outcome of an effect that had begun; null if it is performed again. */
  interruptionOf(effect: Effect): ReturnType<typeof interruptedOutcome> {
    return interruptedOutcome(this.parts.effects.catalog, this.parts.observer.folds, effect);
  }

  /** The input of a call in the current reply, by its index. */
  inputOf(index: number): JsonObject {
    return this.parts.observer.folds.conversation.inputOf(index);
  }

  /** Opens the tools again if they had been open. Returns null, or why some are missing. */
  async reopenTools(signal: AbortSignal): Promise<string | null> {
    return this.parts.resumed?.needsTools === true ? this.openTools(signal) : null;
  }

  /** Opens the tools. Returns null, or why some are missing. */
  async openTools(signal: AbortSignal): Promise<string | null> {
    const why = await this.parts.effects.open(signal);
    return why === null ? null : redact(why, this.parts.secrets);
  }

  /** Closes the MCP servers and leaves the gates, without waiting for the sub-agents. */
  closeServers(): Promise<void> {
    return this.parts.effects.leave();
  }

  /** Begins no further effect. Resolves when none that a suspension waits for runs, and the last delivery is durable. */
  async suspend(): Promise<void> {
    this.parts.subSessions?.grants.suspend();
    await this.parts.journaled?.suspend();
  }

  /** Whether something is still to be written or delivered. */
  get isBusy(): boolean {
    return this.parts.journaled?.isBusy ?? false;
  }

  /** Resolves when the work at hand is done. */
  async settled(): Promise<void> {
    await this.parts.journaled?.settled();
  }

  /** Begins, delivers and accepts nothing more. */
  retire(): void {
    this.isRetired = true;
    this.parts.machine.leaveSignal();
    this.parts.journaled?.release();
  }

  /** Publishes that the root was suspended, or never began (`failed`). */
  told(status: 'failed' | 'suspended', failure: Failure): void {
    const { observer } = this.parts;
    if (status === 'failed') observer.takeFact({ type: 'session.failed', turns: 0, failure });
    else observer.sight({ type: 'session.suspended', failure });
  }

  /** Logs a failure that no event can tell any more. */
  logged(failure: Failure): void {
    this.parts.observer.folds.log.sighting({ type: 'session.suspended', failure });
  }

  /** Takes credentials out of the reason for a failure. */
  redacted(text: string): string {
    return redact(text, this.parts.secrets);
  }

  /** Passes the events after position `seq` to the listeners again, then the earlier ones that are open after that. */
  retell(seq: number, whatIsOpen: () => (event: SessionEvent) => boolean): void {
    const { stream, telemetry, listener } = this.parts.observer.folds;
    const events = stream.all();
    for (const event of events) {
      if (event.seq <= seq) continue;
      telemetry.event(event);
      listener.event(event);
    }
    const isOpen = whatIsOpen();
    for (const event of events) if (event.seq <= seq && isOpen(event)) listener.event(event);
  }
}
