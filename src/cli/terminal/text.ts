/** Texts for a terminal: harmless, and of a width. No word is broken unless it alone is wider. */

import { stripVTControlCharacters } from 'node:util';
import { tame } from '../../platform/text.ts';

/** Returns the text as one line of at most `width` columns, cut between two words. */
export function clip(text: string, width: number): string {
  const line = oneLine(text);
  if (!isWider(line, width)) return line;
  const cut = headOfWidth(line, Math.max(1, width - 1));
  const space = line[cut.length] === ' ' ? cut.length : cut.lastIndexOf(' ');
  return `${space > cut.length / 2 ? cut.slice(0, space) : cut}…`;
}

/** Returns the text as one line of at most `width` columns, without its middle if it is longer. */
export function clipMiddle(text: string, width: number): string {
  const line = oneLine(text);
  if (!isWider(line, width)) return line;
  const head = headOfWidth(line, Math.max(1, Math.ceil((width - 1) * 0.6)));
  const backwards = [...graphemes.segment(line.slice(head.length))].reverse();
  let tail = '';
  for (const { segment } of backwards) {
    if (columnsOf(head) + 1 + columnsOf(segment + tail) > width) break;
    tail = segment + tail;
  }
  return `${head}…${tail}`;
}

/** Returns the text as one line. */
export function oneLine(text: string): string {
  return tame(text).replace(/\s+/g, ' ').trim();
}

/** Returns a painted line, cut to `width` columns wherever that is. */
export function clipPainted(line: string, width: number): string {
  if (!isWider(stripVTControlCharacters(line), width)) return line;
  let room = width - 1;
  let isCut = false;
  const pieces = line.split(escapes).map((piece, index) => {
    // Every second piece is one that the expression found.
    if (index % 2 === 1 || isCut || piece === '') return index % 2 === 1 ? piece : '';
    const head = room > 0 ? headOfWidth(piece, room) : '';
    room -= columnsOf(head);
    isCut = head.length < piece.length;
    return isCut ? `${head.trimEnd()}…` : head;
  });
  return pieces.join('');
}

/** Returns the lines of a text, each at most `width` columns. Lines in a code block stay as they are; so do all without a width. */
export function wrapped(text: string, width: number): string[] {
  if (width === Number.POSITIVE_INFINITY) return tame(text).split('\n');
  const block = new CodeBlock();
  return text
    .split('\n')
    .flatMap((line) => (block.takes(line) ? [shownLine(line)] : wrappedLine(shownLine(line), width)));
}

/** Tells the lines of code blocks from the others, line by line. */
export class CodeBlock {
  private isOpen = false;

  /** Whether a line belongs to a block, its fences too. */
  takes(line: string): boolean {
    const isFence = /^\s*(```|~~~)/.test(line);
    const isCode = this.isOpen || isFence;
    if (isFence) this.isOpen = !this.isOpen;
    return isCode;
  }
}

/** Returns a line as it is shown: harmless, with spaces for tabs, whose width depends on where they stand. */
export function shownLine(line: string): string {
  return tame(line).replaceAll('\t', '    ');
}

/** Wraps one line; the rest of a list item or a quotation is indented as it is. */
export function wrappedLine(line: string, wanted: number): string[] {
  const width = Math.max(1, wanted);
  const [indent = ''] = /^\s*(?:[-*+>]|\d+[.)])?\s*/.exec(line) ?? [];
  const hanging = ' '.repeat(Math.min(indent.length, Math.floor(width / 2)));
  const lines: string[] = [];
  let rest = line;
  while (isWider(rest, width)) {
    const head = headOfWidth(rest, width);
    const space = rest[head.length] === ' ' ? head.length : head.lastIndexOf(' ');
    const at = space > (lines.length === 0 ? indent.length : hanging.length) ? space : head.length;
    lines.push(rest.slice(0, at).trimEnd());
    rest = hanging + rest.slice(at).trimStart();
  }
  return [...lines, rest];
}

/** Wraps a painted line between its words; a word that is wider than a line is cut if it is not painted. */
export function wrappedPainted(line: string, width: number): string[] {
  const lines: string[] = [];
  let current: string | null = null;
  const seen = (text: string) => columnsOf(stripVTControlCharacters(text));
  for (const word of line.split(' ')) {
    const whole: string = current === null ? word : `${current} ${word}`;
    if (seen(whole) <= width) {
      current = whole;
      continue;
    }
    if (current !== null) lines.push(current);
    const parts: string[] = word.includes('\u001b') ? [word] : wrappedLine(word, width);
    lines.push(...parts.slice(0, -1));
    current = parts.at(-1) ?? '';
  }
  return [...lines, current ?? ''];
}

const graphemes = new Intl.Segmenter();

/** Characters that take two columns: those of East Asia, and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;

/** The codes that paint a text. */
const escapes = new RegExp(`(${String.fromCharCode(27)}\\[[\\d;]*m)`);

/** The columns that a text without codes takes on a terminal. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += wide.test(segment) ? 2 : 1;
  return columns;
}

/** Whether a text takes more columns than that on a terminal. A long text is read no further. */
function isWider(text: string, width: number): boolean {
  // No unit takes more than two.
  return 2 * text.length > width && headOfWidth(text, width).length < text.length;
}

/** Returns the longest beginning of a text, of whole characters, that takes at most `width` columns; at least one. */
function headOfWidth(text: string, width: number): string {
  let head = '';
  let columns = 0;
  // To segment a text takes as long as all of it is; few characters have more than some units.
  for (const { segment } of graphemes.segment(text.slice(0, 16 * width))) {
    columns += wide.test(segment) ? 2 : 1;
    if (columns > width && head !== '') return head;
    head += segment;
  }
  return head;
}
