import { CodeBlock, shownLine, wrappedLine } from './text.ts';

/** Text that comes in pieces, as lines for a terminal. */
export class StreamedText {
  /** The line that is not complete yet, as it is shown; null before any text. */
  private line: string | null = null;
  /** The first half of a character whose second half is still to come. */
  private half = '';
  private block = new CodeBlock();

  /** Takes a piece. Returns the lines that are complete now, as they are shown: what follows cannot change them. */
  takeDelta(delta: string, width: number): string[] {
    const text = this.half + delta;
    this.half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? '';
    const whole = ((this.line ?? '') + text.slice(0, text.length - this.half.length)).split('\n').map(shownLine);
    const last = whole.pop() ?? '';
    const lines = whole.flatMap((line) => (this.block.takes(line) ? [line] : wrappedLine(line, width)));
    const parts = this.block.wouldTake(last) ? [last] : wrappedLine(last, width);
    this.line = parts.pop() ?? '';
    return [...lines, ...parts];
  }

  /** The end of the line that is not complete yet, as much as fits. */
  growing(width: number): string {
    // A line of a code block may be long, and grows with each piece.
    const tail = (this.line ?? '').slice(-8 * width).replace(/^[\udc00-\udfff]/, '');
    return wrappedLine(tail, width).at(-1) ?? '';
  }

  /** Ends the text. Returns its last line; null if no text came. */
  end(): string | null {
    const rest = this.line === null ? null : this.line + shownLine(this.half);
    this.line = null;
    this.half = '';
    this.block = new CodeBlock();
    return rest;
  }
}
