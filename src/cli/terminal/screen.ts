import { styleText } from 'node:util';

/** What a view writes to: lines that stay and, on a terminal, some below them that the next ones take the place of. */
export class Screen {
  private readonly out: NodeJS.WriteStream;
  private shown: readonly string[] = [];
  /** Ends what heeds others that write to the terminal, such as a tool or a log, while lines stand there. */
  private unheed: () => void = () => {};

  constructor(out: NodeJS.WriteStream) {
    this.out = out;
  }

  get isTerminal(): boolean {
    return this.out.isTTY === true;
  }

  /** The columns of a line of a view. */
  get width(): number {
    return Math.max(20, Math.min(this.out.columns || 120, 200));
  }

  /** The columns of running text; without a terminal, lines are as long as they are. */
  get textWidth(): number {
    return this.isTerminal ? Math.min(this.width, 120) : Number.POSITIVE_INFINITY;
  }

  line(text: string): void {
    this.clear();
    this.out.write(`${text}\n`);
  }

  /** Shows lines of at most `width` columns until the next ones. Without a terminal, nothing. */
  last(...lines: readonly string[]): void {
    if (!this.isTerminal || lines.join('\n') === this.shown.join('\n')) return;
    this.clear();
    this.out.write(lines.join('\n'));
    this.shown = lines;
    const ends = [this.out, process.stderr].map((stream) => beforeWrites(stream, () => this.clear()));
    this.unheed = () => {
      for (const end of ends) end();
    };
  }

  clear(): void {
    this.unheed();
    this.unheed = () => {};
    if (this.shown.length > 0) this.out.write(`\r\u001b[K${'\u001b[A\u001b[K'.repeat(this.shown.length - 1)}`);
    this.shown = [];
  }

  paint(style: Parameters<typeof styleText>[0], text: string): string {
    return styleText(style, text, { stream: this.out });
  }
}

/** Calls `act` before anybody writes to a stream. Returns a function that ends it. */
function beforeWrites(stream: NodeJS.WriteStream, act: () => void): () => void {
  const { write } = stream;
  const own = (...given: Parameters<typeof write>) => {
    act();
    return write.apply(stream, given);
  };
  stream.write = own as typeof write;
  return () => {
    if (stream.write === own) stream.write = write;
  };
}
