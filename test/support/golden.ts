import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect } from 'vitest';

/** The maximum line length of a golden file, to keep it reviewable. */
const width = 148;

/**
 * Compares what a rule returns for each case with a golden file, one paragraph per case. Any changed word shows up in
 * the file. After reviewing the change, update the file by `npx vitest run -u`.
 *
 * A large object is printed whole the first time, as `&1 {…}`, and then as `*1`, or `*1 with {…}` where a few fields differ.
 * A long text is printed the first time, as `$1 "…"`, and then as `$1`.
 */
export async function expectGolden(file: string, cases: Cases): Promise<void> {
  await expect(transcript(cases)).toMatchFileSnapshot(join(process.cwd(), 'test/machines/golden', file));
}

type Cases = Record<string, unknown> | readonly (readonly [string, unknown])[];

/** Returns the text of a golden file. */
export function transcript(cases: Cases): string {
  const printer = new Printer();
  const text = (Array.isArray(cases) ? cases : Object.entries(cases))
    .map(
      ([name, value]) =>
        `${name}\n${linesOf(value)
          .map((line) => `  ${printer.line(line)}\n`)
          .join('')}`,
    )
    .join('\n');
  return withoutUnused(text);
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

/** Until numbered, labels and references are enclosed in characters that no printed value contains. */
const label = (kind: '&' | '$', number: number) => `\uE001${kind}${number}\uE002`;
const reference = (kind: '&' | '$', number: number) => `\uE003${kind}${number}\uE002`;

/** The length of a text once it is numbered: most labels are left out, and no reference has marks. */
const widthOf = (text: string) => text.replace(/\uE001[^\uE002]*\uE002 |[\uE002\uE003]/g, '').length;

/** Omits labels that nothing refers to, and renumbers the others. */
function withoutUnused(text: string): string {
  const used = new Set(Array.from(text.matchAll(/\uE003([&$]\d+)\uE002/g), ([, name]) => name));
  const numbers = new Map<string, number>();
  return text
    .replace(/\uE001([&$]\d+)\uE002 /g, (_, name) => {
      if (!used.has(name)) return '';
      numbers.set(name, numbers.size + 1);
      return `${name[0]}${numbers.size} `;
    })
    .replace(/\uE003([&$]\d+)\uE002/g, (_, name) => `${name[0] === '&' ? '*' : '$'}${numbers.get(name)}`);
}

/** Objects whose text is longer than this are printed once. */
const anchorLength = 28;

type Fields = Record<string, unknown>;

class Printer {
  private readonly anchors: Fields[] = [];
  private readonly texts: string[] = [];

  line(line: unknown): string {
    if (!(line instanceof Told)) return this.print(line, 2);
    const { label, value } = line;
    return isFields(value) && Object.keys(value).length === 0 ? label : `${label} ${this.print(value, 2)}`;
  }

  /** `indent` is that of the line in which the text begins. */
  print(value: unknown, indent: number): string {
    if (Array.isArray(value)) {
      const inline = `[${value.map((item) => this.inline(item)).join(', ')}]`;
      if (indent + widthOf(inline) + 30 <= width && !inline.includes('\n')) return inline;
      return `[${this.block(
        value.map((item) => this.print(item, indent + 2)),
        indent,
      )}]`;
    }
    if (isFields(value)) return this.printFields(value, indent);
    if (typeof value === 'string' && value.length > anchorLength) return this.printLong(value, indent);
    return scalar(value);
  }

  /** Returns the value on one line, or a line break if it is too long. */
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
      if (near.changed.length === 0) return reference('&', near.anchor);
      return `${label('&', this.anchors.push(value))} ${reference('&', near.anchor)} with ${this.printEntries(changed, indent)}`;
    }
    return `${label('&', this.anchors.push(value))} ${this.printEntries(value, indent)}`;
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
    if (!inline.includes('\n') && indent + widthOf(inline) < width - 40) return ` ${inline} `;
    const lines: string[] = [];
    for (const entry of entries) {
      const last = lines.at(-1);
      const joined = `${last}, ${entry}`;
      if (last !== undefined && !joined.includes('\n') && pad.length + widthOf(joined) < width) {
        lines[lines.length - 1] = joined;
      } else {
        lines.push(entry);
      }
    }
    return `\n${pad}${lines.join(`,\n${pad}`)}\n${' '.repeat(indent)}`;
  }

  private printLong(text: string, indent: number): string {
    const known = this.texts.indexOf(text);
    if (known !== -1) return reference('$', known + 1);
    this.texts.push(text);
    const pad = ' '.repeat(indent);
    const pieces = text.match(new RegExp(`[\\s\\S]{1,${Math.max(40, width - indent - 30)}}`, 'g')) ?? [];
    return `${label('$', this.texts.length)} ${pieces.map((piece) => scalar(piece)).join(`\n${pad}`)}`;
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

/** Whether a value is a plain object. Others, such as a Map or an Error, are printed by class and content. */
function isFields(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A value on one line, as a TypeScript literal in which `undefined` and NaN are preserved. */
function plain(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(plain).join(', ')}]`;
  if (!isFields(value)) return scalar(value);
  const entries = Object.entries(value).map(([key, item]) => `${nameOf(key)}: ${plain(item)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

const nameOf = (key: string) => (/^[\w$]+$/.test(key) ? key : JSON.stringify(key));

function scalar(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  return typeof value === 'object' && value !== null ? inspect(value, { breakLength: Infinity }) : String(value);
}
