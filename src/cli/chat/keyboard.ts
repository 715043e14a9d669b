import { createInterface, type Interface } from 'node:readline';

/**
 * Lines from the keyboard, or from a pipe. An open question gets the next line. Otherwise `heed` may take the line at
 * once; if it does not, the line waits until it is read.
 */
export class Keyboard {
  /** Takes a line at once, and returns true; or leaves it. */
  heed: (line: string) => boolean = () => false;
  private readonly lines: Interface;
  private readonly kept: string[] = [];
  private readonly readers: ((line: string | null) => void)[] = [];
  private readonly isTerminal: boolean;
  private hasEnded = false;

  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream, interrupted: () => void) {
    const terminal = input.isTTY === true && output.isTTY === true;
    this.isTerminal = terminal;
    this.lines = createInterface({ input, output: terminal ? output : undefined, terminal });
    this.lines.on('line', (line) => this.takeLine(line));
    this.lines.on('SIGINT', interrupted);
    this.lines.on('close', () => {
      this.hasEnded = true;
      for (const reader of this.readers.splice(0)) reader(null);
    });
  }

  /** Returns the next line; null once the input has ended. */
  next(prompt: string): Promise<string | null> {
    const known = this.kept.shift();
    if (known !== undefined) return Promise.resolve(known);
    return this.ask(prompt);
  }

  /** Whether a person can be asked something. */
  get isAttended(): boolean {
    return this.isTerminal && !this.hasEnded;
  }

  /** Asks a question, which the next line answers, whatever waits. Null once the input has ended or `signal` aborts. */
  ask(prompt: string, signal?: AbortSignal): Promise<string | null> {
    if (this.hasEnded || signal?.aborted === true) return Promise.resolve(null);
    this.lines.setPrompt(prompt);
    this.lines.prompt(true);
    return new Promise((resolve) => {
      this.readers.unshift(resolve);
      const withdraw = () => {
        const at = this.readers.indexOf(resolve);
        if (at !== -1) this.readers.splice(at, 1);
        resolve(null);
      };
      signal?.addEventListener('abort', withdraw, { once: true });
      if (signal?.aborted) withdraw();
    });
  }

  close(): void {
    this.lines.close();
  }

  private takeLine(line: string): void {
    const reader = this.readers.shift();
    if (reader !== undefined) reader(line);
    else if (!this.heed(line)) this.kept.push(line);
  }
}
