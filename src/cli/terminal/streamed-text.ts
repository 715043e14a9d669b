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

/** Text that comes in pieces, as whole blocks of Markdown: paragraphs, lists, blocks of code. */
export class StreamedBlocks {
  private text = '';
  /** How much of the text has been looked at, up to the end of a line. */
  private seen = 0;
  private block = new CodeBlock();

  /** Takes a piece. Returns the blocks that are complete now. */
  takeDelta(delta: string): string[] {
    this.text += delta;
    const blocks: string[] = [];
    for (let end = this.text.indexOf('\n', this.seen); end !== -1; end = this.text.indexOf('\n', this.seen)) {
      const line = this.text.slice(this.seen, end);
      this.seen = end + 1;
      if (this.block.takes(line) || line.trim() !== '') continue;
      const whole = this.text.slice(0, end).trim();
      if (whole !== '') blocks.push(whole);
      this.text = this.text.slice(this.seen);
      this.seen = 0;
    }
    return blocks;
  }

  /** The end of the block that is not complete yet, as much as fits in a line. */
  growing(width: number): string {
    const last = this.text.slice(this.text.lastIndexOf('\n') + 1);
    const tail = last.slice(-8 * width).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
    return wrappedLine(shownLine(tail), width).at(-1) ?? '';
  }

  /** Ends the text. Returns its last block; null if nothing is left. */
  end(): string | null {
    const rest = this.text.trim();
    this.text = '';
    this.seen = 0;
    this.block = new CodeBlock();
    return rest === '' ? null : rest;
  }
}
