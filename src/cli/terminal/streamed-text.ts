import { tame, wrappedLine } from './text.ts';

/** Text that comes in pieces, as lines for a terminal. */
export class StreamedText {
  private line: string | null = null;

  /** Takes a piece. Returns the lines that are complete now: what follows cannot change them. */
  take(delta: string, width: number): string[] {
    const whole = (this.line ?? '') + delta;
    const lines = whole.split('\n');
    const last = lines.pop() ?? '';
    const complete = lines.flatMap((line) => wrappedLine(tame(line), width));
    const parts = wrappedLine(last, width);
    this.line = parts.pop() ?? '';
    return [...complete, ...parts.map(tame)];
  }

  /** The line that is not complete yet. */
  get growing(): string {
    return tame(this.line ?? '');
  }

  /** Ends the text. Returns its last line; null if no text came. */
  end(): string | null {
    const rest = this.line === null ? null : this.growing;
    this.line = null;
    return rest;
  }
}
