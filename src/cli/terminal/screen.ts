import { stripVTControlCharacters, styleText } from 'node:util';

/** The `write` of each stream before anybody replaced it. */
const ownWrites = new WeakMap<NodeJS.WriteStream, NodeJS.WriteStream['write']>();

/** Rows of a terminal that does not say how many it has. */
const usualRows = 24;

/**
 * What a view writes to: lines that stay and, on a terminal, some below them that the next ones take the place of. The
 * cursor stands at the first of those, so that what another process writes erases nothing, and is not erased.
 */
export class Screen {
  private readonly out: NodeJS.WriteStream;
  /** Writes past those who replace the `write` of the stream. */
  private readonly put: (text: string) => void;
  private shown: readonly string[] = [];
  /** Whether the last line is unfinished, such as a question. Nothing is drawn below it. */
  private isMidLine = false;
  private isHeeding = false;

  constructor(out: NodeJS.WriteStream) {
    this.out = out;
    const write = ownWrites.get(out) ?? out.write;
    ownWrites.set(out, write);
    this.put = (text) => void write.call(out, text);
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
    const last = this.shown;
    this.clear();
    this.put(`${this.isMidLine ? '\n' : ''}${text}\n`);
    this.isMidLine = false;
    if (last.length > 0) this.last(...last);
  }

  /** Shows lines of at most `width` columns until the next ones; of too many, the last. Without a terminal, nothing. */
  last(...lines: readonly string[]): void {
    if (!this.isTerminal || this.isMidLine) return;
    const fitting = lines.slice(-Math.max(1, (this.out.rows || usualRows) - 1));
    if (fitting.join('\n') === this.shown.join('\n')) return;
    this.clear();
    this.heed();
    const up = fitting.length < 2 ? '' : `\u001b[${fitting.length - 1}A`;
    this.put(`${fitting.join('\n')}${up}\r`);
    this.shown = fitting;
  }

  clear(): void {
    if (this.shown.length === 0) return;
    this.shown = [];
    this.put('\u001b[J');
  }

  paint(style: Parameters<typeof styleText>[0], text: string): string {
    return styleText(style, text, { stream: this.out });
  }

  /** Heeds what this process writes to the terminal from now on, such as a tool or a log: it is written above. */
  private heed(): void {
    if (this.isHeeding) return;
    this.isHeeding = true;
    for (const stream of new Set([this.out, process.stderr])) if (stream.isTTY === true) heeded(stream, this);
  }

  /** Clears the last lines before other code writes to the stream. */
  yieldTo(written: unknown): void {
    this.clear();
    const text = written instanceof Uint8Array ? Buffer.from(written).toString('utf8') : String(written);
    const seen = stripVTControlCharacters(text);
    if (seen !== '') this.isMidLine = !seen.endsWith('\n');
  }
}

/** The screens that heed a stream: its `write` is replaced once, however many views a process shows. */
const heeding = new WeakMap<NodeJS.WriteStream, { screen: Screen }>();

function heeded(stream: NodeJS.WriteStream, screen: Screen): void {
  const known = heeding.get(stream);
  if (known !== undefined) {
    known.screen = screen;
    return;
  }
  const current = { screen };
  heeding.set(stream, current);
  const { write } = stream;
  const heedingWrite = (...given: Parameters<typeof write>) => {
    current.screen.yieldTo(given[0]);
    return write.apply(stream, given);
  };
  stream.write = heedingWrite as typeof write;
}
