import { CodeBlock, shownLine, wrappedLine } from './text.ts';

/** The most lines of a growing block. */
const mostGrowing = 6;

/** Text that comes in pieces, as whole blocks of Markdown: paragraphs, lists, blocks of code. */
export class StreamedBlocks {
  private text = '';
  private hasCome = false;
  /** How much of the text has been looked at, up to the end of a line. */
  private seen = 0;
  private block = new CodeBlock();

  /** Takes a piece. Returns the blocks that are complete now. */
  takeDelta(delta: string): string[] {
    this.text += delta;
    this.hasCome = true;
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

  /** The end of the block that is not complete yet, as a few lines. */
  growing(width: number): string[] {
    const tail = this.text.slice(-mostGrowing * width).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
    return tail
      .trimEnd()
      .split('\n')
      .flatMap((line) => wrappedLine(shownLine(line), width))
      .slice(-mostGrowing);
  }

  /** Ends the text. Returns its last block, which may be empty; null if no text came. */
  end(): string | null {
    const rest = this.hasCome ? this.text.trim() : null;
    this.hasCome = false;
    this.text = '';
    this.seen = 0;
    this.block = new CodeBlock();
    return rest;
  }
}
