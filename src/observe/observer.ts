import type { Counters, Fact } from '../../machines/index.ts';
import { redact } from '../agent/redact.ts';
import { messageOf } from '../errors.ts';
import type { Envelope, Fold, SessionEvent, Sighting } from './events.ts';
import { type FoldOptions, type Folds, makeFolds } from './folds.ts';

export type ObserverOptions = Omit<FoldOptions, 'onFailure'> & {
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
  private seq = 0;
  /** The parts of the current attempt's reply that have begun. */
  private parts = 0;

  constructor(options: ObserverOptions) {
    this.options = options;
    this.folds = makeFolds({
      ...options,
      onFailure: (observer, error) => this.userCodeFailed(observer, error),
    });
    this.list = Object.values(this.folds);
  }

  get counters(): Counters {
    return this.folds.counters.all;
  }

  /** Receives a machine fact. Never throws: the actor tree is in the middle of a step. */
  take(fact: Fact): void {
    const { deliveredAt } = this.options.times;
    this.tell((fold) => fold.fact?.(fact, deliveredAt));
    this.publish({ ...this.told(fact), ...this.envelope(deliveredAt), seq: this.next(1) });
    if (fact.type === 'attempt.started') this.parts = 0;
  }

  /** Receives a non-fact observation. */
  sight(sighting: Sighting): void {
    if (sighting.type === 'model.delta') {
      this.parts = Math.max(this.parts, sighting.part + 1);
      this.pass({ ...sighting, ...this.envelope(this.options.times.now()), seq: this.next(sighting.delta.length) });
      return;
    }
    if (sighting.type === 'model.warned' && !this.isNewWarning(`${sighting.target} ${sighting.warning}`)) return;
    const isReport = sighting.type === 'observer.failed';
    this.tell((fold) => fold.sighting?.(sighting), isReport);
    const clean =
      'message' in sighting ? { ...sighting, message: redact(sighting.message, this.options.secrets) } : sighting;
    this.publish({ ...clean, ...this.envelope(this.options.times.now()), seq: this.next(1) }, isReport);
  }

  /** Forwards an event from a sub-agent's session, under its path. No fold here counts it. */
  forward(event: SessionEvent, name: string): void {
    const path = [name, ...event.path];
    if (event.type === 'model.delta') this.pass({ ...event, path, seq: this.next(event.delta.length) });
    else this.publish({ ...event, path, seq: this.next(1) });
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

  private next(positions: number): number {
    this.seq += positions;
    return this.seq;
  }

  private told(fact: Fact) {
    if (fact.type === 'attempt.failed') return { ...fact, partsTakenBack: this.parts };
    if (fact.type !== 'tool.requested' && fact.type !== 'tool.approvalRequested') return fact;
    return { ...fact, input: this.folds.conversation.inputOf(fact.index) };
  }

  /** Passes on a delta: countless, and of interest to two folds alone. */
  private pass(delta: SessionEvent): void {
    this.folds.stream.event(delta);
    this.folds.listener.event(delta);
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
