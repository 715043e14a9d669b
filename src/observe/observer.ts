import type { Counters, Fact } from '../../machines/index.ts';
import { redact } from '../agent/redact.ts';
import { messageOf } from '../errors.ts';
import type { Envelope, Fold, SessionEvent, Sighting } from './events.ts';
import { type FoldOptions, type Folds, makeFolds } from './folds.ts';

export type ObserverOptions = Omit<FoldOptions, 'envelope' | 'onFailure'> & {
  /** Epoch ms. `deliveredAt` is the delivery's, so replays yield the same facts. */
  times: { readonly deliveredAt: number; now(): number };
};

const ownPath: readonly string[] = [];

/** A session's derived state: a list of folds, and the events sent to listeners. */
export class Observer {
  readonly folds: Folds;
  private readonly list: readonly Fold[];
  private readonly options: ObserverOptions;
  private readonly warned: string[] = [];

  constructor(options: ObserverOptions) {
    this.options = options;
    this.folds = makeFolds({
      ...options,
      envelope: () => this.envelope(this.options.times.now()),
      onFailure: (observer, error) => this.userCodeFailed(observer, error),
    });
    this.list = Object.values(this.folds);
  }

  get counters(): Counters {
    return this.folds.counters.all;
  }

  /** Whether any observer would get the deltas of a reply. */
  get wantsDeltas(): boolean {
    return this.options.onEvent !== null || this.folds.stream.isRead;
  }

  /** Receives a machine fact. Never throws: the actor tree is in the middle of a step. */
  take(fact: Fact): void {
    const { deliveredAt } = this.options.times;
    this.tell((fold) => fold.fact?.(fact, deliveredAt));
    this.publish(this.eventOf(fact, this.envelope(deliveredAt)));
  }

  /** Receives a non-fact observation. */
  sight(sighting: Sighting): void {
    if (sighting.type === 'model.warned' && !this.isNewWarning(`${sighting.target} ${sighting.warning}`)) return;
    const isReport = sighting.type === 'observer.failed';
    this.tell((fold) => fold.sighting?.(sighting), isReport);
    const clean =
      'message' in sighting ? { ...sighting, message: redact(sighting.message, this.options.secrets) } : sighting;
    this.publish({ ...clean, ...this.envelope(this.options.times.now()) }, isReport);
  }

  /** Forwards an event from a sub-agent's session, under its path. No fold here counts it. */
  forward(event: SessionEvent, name: string): void {
    this.publish({ ...event, path: [name, ...event.path] });
  }

  /** Reports that user code threw. */
  userCodeFailed(observer: string, error: unknown): void {
    this.sight({ type: 'observer.failed', observer, message: messageOf(error) });
  }

  private isNewWarning(warning: string): boolean {
    if (this.warned.includes(warning)) return false;
    this.warned.push(warning);
    return true;
  }

  private envelope(at: number): Envelope {
    const { sessionId, agent } = this.options;
    return { sessionId, agent, at, path: ownPath };
  }

  private eventOf(fact: Fact, envelope: Envelope): SessionEvent {
    if (fact.type !== 'tool.requested' && fact.type !== 'tool.approvalRequested') return { ...fact, ...envelope };
    return { ...fact, input: this.folds.conversation.inputOf(fact.index), ...envelope };
  }

  private publish(event: SessionEvent, isReport = false): void {
    this.tell((fold) => fold.event?.(event), isReport);
  }

  /** Calls each fold. One that throws does not affect the others; it is reported, except during a report. */
  private tell(act: (fold: Fold) => void, isReport = false): void {
    for (const fold of this.list) {
      try {
        act(fold);
      } catch (error) {
        if (!isReport) this.userCodeFailed('session', error);
      }
    }
  }
}
