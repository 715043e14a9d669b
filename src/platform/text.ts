import { byteLength, utf8Bytes, utf8Text } from './bytes.ts';

/** Returns the start of `text`: whole characters, at most `maxBytes` bytes of valid UTF-8. */
export function headOf(text: string, maxBytes: number): string {
  const wellFormed = text.toWellFormed();
  if (byteLength(wellFormed) <= maxBytes) return wellFormed;
  // A character takes at least one byte, so at most `maxBytes` of them fit.
  const bytes = utf8Bytes(wellFormed.slice(0, maxBytes));
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return utf8Text(bytes.subarray(0, end));
}

/** Returns the end of `text`, within the same limit. */
export function tailOf(text: string, maxBytes: number): string {
  const wellFormed = text.toWellFormed();
  if (byteLength(wellFormed) <= maxBytes) return wellFormed;
  const bytes = utf8Bytes(wellFormed.slice(-maxBytes).toWellFormed());
  let start = Math.max(0, bytes.length - maxBytes);
  while (start < bytes.length && isContinuation(bytes[start])) start += 1;
  return utf8Text(bytes.subarray(start));
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Returns JSON whose texts are all valid Unicode: a lone surrogate makes a provider refuse the request (C-6). */
export function wellFormed<T>(value: T): T;
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map((item) => wellFormed(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name.toWellFormed(), wellFormed(item)]));
}

/** Decodes a part of a URI. Returns one that cannot be decoded unchanged. */
export function decodedUri(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Joins the parts of an emoji, and is harmless there. */
const joiner = '\u200d';

/**
 * Writes characters that control a terminal, or hide or reorder text, as escapes such as `\u{202e}`. Newlines, tabs and
 * the joiners of emoji stay.
 */
export function tame(text: string): string {
  return text.replace(/(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character, at: number) => {
    if (character === joiner && /(?:\p{Extended_Pictographic}|\ufe0f)$/u.test(text.slice(Math.max(0, at - 2), at)))
      return character;
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}

/** Cuts a text after a whole word, because part of a word may be the beginning of a secret (S-5). */
export function wholeWordsOf(text: string, mostChars: number): string {
  return text.length <= mostChars ? text : text.slice(0, mostChars).replace(/\S+$/, '…');
}

/** The most names that a sentence lists. */
const mostListed = 20;

/** Joins names for a sentence; of very many, it names the first and counts the others. */
export function listed(names: readonly string[], separator = ', '): string {
  const more = names.length - mostListed;
  return more <= 0 ? names.join(separator) : `${names.slice(0, mostListed).join(separator)} and ${more} more`;
}

/** A count with its noun: `1 turn`, `2 turns`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Whether two lists hold the same texts in the same order. */
export function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}

/** Writes an amount of US dollars: `$0.0125`. */
export function formatDollars(amount: number): string {
  return `$${amount.toFixed(4)}`;
}

/** Writes a measured time: `17 ms`, `1.2 s`, `3 min 4 s`. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

/** Writes a time in words: `12 s`, `3 min`, `1 h 20 min`. */
export function formatDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Rows as lines whose columns stand below each other: the first to the left, the last as it is. */
export function inColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const padded = (row: readonly string[]) => (cell: string, column: number) => {
    if (column === row.length - 1) return cell;
    return column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0);
  };
  return rows.map((row) => row.map(padded(row)).join('  ').trimEnd());
}
