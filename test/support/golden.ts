import { join } from 'node:path';
import { expect } from 'vitest';

/** The longest line of a golden file, so that a person can review it. */
const width = 158;

/**
 * Compares what a rule returns for each case with a golden file, a paragraph for each case. A change of any word shows up
 * in the file, which `npx vitest run -u` updates once a person has read the change.
 *
 * A large object is printed whole the first time, as `&1 {…}`, and then as `*1`, or `*1 with {…}` where a few fields differ.
 * A long text is printed the first time, as `$1 "…"`, and then as `$1`.
 */
export async function expectGolden(
  file: string,
  cases: Record<string, unknown> | readonly (readonly [string, unknown])[],
): Promise<void> {
  const printer = new Printer();
  const text = (Array.isArray(cases) ? cases : Object.entries(cases))
    .map(
      ([name, value]) =>
        `${name}\n${linesOf(value)
          .map((line) => `  ${printer.line(line)}\n`)
          .join('')}`,
    )
    .join('\n');
  await expect(withoutUnused(text)).toMatchFileSnapshot(join(process.cwd(), 'test/machines/golden', file));
}

/** A line of a transcript: a word or two, and a value. */
export class Told {
  readonly label: string;
  readonly value: unknown;

  constructor(label: string, value: unknown) {
    this.label = label;
    this.value = value;
  }
}

const linesOf = (value: unknown): unknown[] => (Array.isArray(value) && value.length > 0 ? value : [value]);

/** Labels that nothing refers to are left out, and the others numbered anew. */
function withoutUnused(text: string): string {
  const numbers = new Map<string, number>();
  for (const [, name = ''] of text.matchAll(/(?<=[ [(])\*(\d+)/g)) numbers.set(`&${name}`, 0);
  for (const [, name = ''] of text.matchAll(/(?<=[ [(])\$(\d+)(?!\d)(?! ")/g)) numbers.set(`$${name}`, 0);
  let next = 0;
  const labelled = text.replace(/(?<=[ [(])(&\d+|\$\d+(?= ")) /g, (_, name) => {
    if (!numbers.has(name)) return '';
    next += 1;
    numbers.set(name, next);
    return `${name[0]}${next} `;
  });
  return labelled
    .replace(/(?<=[ [(])\*(\d+)/g, (_, name) => `*${numbers.get(`&${name}`)}`)
    .replace(/(?<=[ [(])\$(\d+)(?!\d)(?! ")/g, (_, name) => `$${numbers.get(`$${name}`)}`);
}

/** Objects whose text is longer than this are printed once. */
const anchorLength = 50;

type Fields = Record<string, unknown>;

class Printer {
  private readonly anchors: Fields[] = [];
  private readonly texts: string[] = [];

  line(line: unknown): string {
    if (!(line instanceof Told)) return this.print(line, 2);
    const { label, value } = line;
    return isFields(value) && Object.keys(value).length === 0 ? label : `${label} ${this.print(value, 2)}`;
  }

  /** `indent` is the column of the line that the text begins in. */
  print(value: unknown, indent: number): string {
    if (Array.isArray(value)) {
      const inline = `[${value.map((item) => this.inline(item)).join(', ')}]`;
      if (indent + inline.length + 30 <= width && !inline.includes('\n')) return inline;
      return `[${this.block(
        value.map((item) => this.print(item, indent + 2)),
        indent,
      )}]`;
    }
    if (isFields(value)) return this.printFields(value, indent);
    if (typeof value === 'string' && value.length > anchorLength) return this.printLong(value, indent);
    return scalar(value);
  }

  /** A value on one line; one with a line break in it is too long for that. */
  private inline(value: unknown): string {
    const text = plain(value);
    return text.length > anchorLength ? '\n' : text;
  }

  private printFields(value: Fields, indent: number): string {
    const whole = plain(value);
    if (whole.length <= anchorLength) return whole;
    const near = this.nearest(value, whole.length);
    if (near !== null) {
      const changed = Object.fromEntries(near.changed.map((key) => [key, value[key]]));
      if (near.changed.length === 0) return `*${near.anchor}`;
      return `&${this.anchors.push(value)} *${near.anchor} with ${this.printEntries(changed, indent)}`;
    }
    return `&${this.anchors.push(value)} ${this.printEntries(value, indent)}`;
  }

  private printEntries(value: Fields, indent: number): string {
    const inline = plain(value);
    if (inline.length <= anchorLength) return inline;
    const entries = Object.entries(value).map(([key, item]) => {
      const name = nameOf(key);
      return `${name}: ${this.print(item, indent + 2)}`;
    });
    return `{${this.block(entries, indent)}}`;
  }

  /** Packs entries into lines, as many per line as fit. */
  private block(entries: readonly string[], indent: number): string {
    const pad = ' '.repeat(indent + 2);
    const inline = entries.join(', ');
    if (!inline.includes('\n') && indent + inline.length < width - 40) return ` ${inline} `;
    const lines: string[] = [];
    for (const entry of entries) {
      const last = lines.at(-1);
      const joined = `${last}, ${entry}`;
      if (last !== undefined && !joined.includes('\n') && pad.length + joined.length < width) {
        lines[lines.length - 1] = joined;
      } else {
        lines.push(entry);
      }
    }
    return `\n${pad}${lines.join(`,\n${pad}`)}\n${' '.repeat(indent)}`;
  }

  private printLong(text: string, indent: number): string {
    const known = this.texts.indexOf(text);
    if (known !== -1) return `$${known + 1}`;
    this.texts.push(text);
    const pad = ' '.repeat(indent);
    const pieces = text.match(new RegExp(`[\\s\\S]{1,${width - indent - 30}}`, 'g')) ?? [];
    return `$${this.texts.length} ${pieces.map((piece) => scalar(piece)).join(`\n${pad}`)}`;
  }

  /** The anchor with the same keys that differs least; null if all differ too much. */
  private nearest(value: Fields, length: number): { anchor: number; changed: string[] } | null {
    const keys = Object.keys(value);
    let best: { anchor: number; changed: string[]; size: number } | null = null;
    for (const [index, anchor] of this.anchors.entries()) {
      if (Object.keys(anchor).join() !== keys.join()) continue;
      const changed = keys.filter((key) => plain(anchor[key]) !== plain(value[key]));
      const size = changed.reduce((sum, key) => sum + plain(value[key]).length + key.length, 0);
      if (best === null || size < best.size) best = { anchor: index + 1, changed, size };
    }
    return best !== null && best.size < length * 0.6 ? best : null;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value on one line: like a literal of TypeScript, where `undefined` and NaN stay what they are. */
function plain(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(plain).join(', ')}]`;
  if (!isFields(value)) return scalar(value);
  const entries = Object.entries(value).map(([key, item]) => `${nameOf(key)}: ${plain(item)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

const nameOf = (key: string) => (/^[\w$]+$/.test(key) ? key : JSON.stringify(key));
const scalar = (value: unknown) => (typeof value === 'string' ? JSON.stringify(value) : String(value));
