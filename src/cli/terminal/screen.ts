import { styleText } from 'node:util';

/** What a view writes to: lines that stay and, on a terminal, a last one that the next takes the place of. */
export class Screen {
  private readonly out: NodeJS.WriteStream;
  private shown: string | null = null;

  constructor(out: NodeJS.WriteStream) {
    this.out = out;
  }

  get isTerminal(): boolean {
    return this.out.isTTY === true;
  }

  /** The columns of a line of a view. */
  get width(): number {
    return Math.max(20, Math.min(this.out.columns || 120, 160));
  }

  /** The columns of running text; without a terminal, lines are as long as they are. */
  get textWidth(): number {
    return this.isTerminal ? this.width : Number.POSITIVE_INFINITY;
  }

  line(text: string): void {
    this.clear();
    this.out.write(`${text}\n`);
  }

  /** Shows a line until the next one. Without a terminal, nothing. */
  last(text: string): void {
    if (!this.isTerminal || text === this.shown) return;
    this.clear();
    this.out.write(text);
    this.shown = text;
  }

  clear(): void {
    if (this.shown !== null) this.out.write('\r\u001b[K');
    this.shown = null;
  }

  paint(style: Parameters<typeof styleText>[0], text: string): string {
    return styleText(style, text, { stream: this.out });
  }
}
