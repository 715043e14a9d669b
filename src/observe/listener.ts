import { onRejection } from '../input/errors.ts';
import type { Metadata } from '../vocabulary/metadata.ts';
import { type EventListener, eventCopy, type Fold, type SessionEvent } from './events.ts';

/** The user's `onEvent` listener. Its first error is reported; later calls continue. */
export class Listener implements Fold {
  private readonly onEvent: EventListener | null;
  private readonly onFailure: (observer: string, error: unknown) => void;
  private readonly session: { context: unknown; metadata: Metadata };
  private readonly name: string;
  readonly takesDeltas = true;
  private failed = false;

  /** `name` is how a failure is reported. */
  constructor(
    onEvent: EventListener | null,
    onFailure: Listener['onFailure'],
    session: Listener['session'],
    name = 'onEvent',
  ) {
    this.name = name;
    this.onEvent = onEvent;
    this.session = session;
    this.onFailure = onFailure;
  }

  get isIdle(): boolean {
    return this.onEvent === null;
  }

  event(event: SessionEvent): void {
    if (this.onEvent === null) return;
    try {
      onRejection(this.onEvent(eventCopy(event), this.session), (error) => this.threw(error));
    } catch (error) {
      this.threw(error);
    }
  }

  private threw(error: unknown): void {
    if (this.failed) return;
    this.failed = true;
    this.onFailure(this.name, error);
  }
}
