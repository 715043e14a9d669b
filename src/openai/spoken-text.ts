import type { SessionEvent } from '../observe/events.ts';
import { withoutSecrets } from '../secrets/redact.ts';
import { safeLength } from '../secrets/written-secrets.ts';

/**
 * What a client is told of a reply's text: a piece of it, that it stays and the session continues (before the calls of a
 * turn), or that it failed and does not count. `text` of the last two is what was held back of it.
 */
export type Spoken = { type: 'piece' | 'stays' | 'fails'; text: string };

/** The text of a session's replies, as it comes. */
export class SpokenText {
  private readonly streams: boolean;
  private readonly secrets: readonly string[];
  /** What waits for the rest of it: half a character, or what may be the beginning of a secret, also in the next part. */
  private held = '';
  /** Whether there is text of the current attempt. */
  hasSpoken = false;

  /** `streams`: whether the text of replies is the report, so that it may be sent as it comes. */
  constructor({ streams, secrets }: { streams: boolean; secrets: readonly string[] }) {
    this.streams = streams;
    this.secrets = secrets;
  }

  /** Returns what an event says; null for nothing. */
  takeEvent(event: SessionEvent): Spoken | null {
    if (!this.streams || event.path.length > 0) return null;
    if (event.type === 'attempt.started') this.hasSpoken = false;
    if (event.type === 'model.delta' && event.kind === 'text') {
      this.hasSpoken = true;
      return { type: 'piece', text: this.grown(event.delta) };
    }
    if (!this.hasSpoken) return null;
    if (event.type === 'attempt.progressed') return { type: 'stays', text: this.rest() };
    if (event.type !== 'attempt.failed') return null;
    this.hasSpoken = false;
    return { type: 'fails', text: this.rest() };
  }

  /** What was held back: nothing follows it. */
  rest(): string {
    const { held } = this;
    this.held = '';
    return this.cleaned(held);
  }

  private grown(delta: string): string {
    const text = `${this.held}${delta}`;
    const shown = safeLength(/[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text, this.secrets);
    this.held = text.slice(shown);
    return this.cleaned(text.slice(0, shown));
  }

  private cleaned(text: string): string {
    return withoutSecrets(text, this.secrets).toWellFormed();
  }
}
