import type { SessionEvent } from '../observe/events.ts';
import type { SessionResult } from '../session/session.ts';
import { answerText } from './outcome.ts';
import type { SpokenText } from './spoken-text.ts';

/** Tells the client that an attempt failed, since text that was sent cannot be taken back. */
const takenBack = '\n\n[The last reply failed and does not count.]\n\n';

/** Precedes the whole of a reply whose text was sent in another order. */
const again = '\n\n[The whole reply:]\n\n';

/** A session as one text that grows, for protocols that can take nothing back. */
export class TextAnswer {
  private readonly spoken: SpokenText;
  private sent = '';

  constructor(spoken: SpokenText) {
    this.spoken = spoken;
  }

  /** The text that an event adds. */
  grown(event: SessionEvent): string {
    const spoken = this.spoken.takeEvent(event);
    if (spoken === null) return '';
    const { type, text } = spoken;
    if (type === 'piece') return this.add(text);
    if (type === 'fails') return this.add(`${text}${takenBack}`);
    // Text before a call stays, and the rest begins a new paragraph.
    return this.add(`${this.sent}${text}`.endsWith('\n\n') ? text : `${text}\n\n`);
  }

  /** What was not sent of the report. */
  rest(result: SessionResult): string {
    const text = answerText(result);
    const rest = this.add(this.spoken.rest());
    // Such as when the texts of several parts came by turns.
    return rest + (this.sent.endsWith(text) ? '' : this.add(this.spoken.hasSpoken ? `${again}${text}` : text));
  }

  private add(text: string): string {
    this.sent += text;
    return text;
  }
}
