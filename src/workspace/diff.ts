/** Lines around a change that are shown, and lines that are shown in all. */
const around = 3;
const mostLines = 200;

/** What a file holds: its text, or why that cannot be shown. */
export type FileShown = { text: string; why?: never } | { text: null; why: string };

/** Returns what a person is shown of a change to a file, from and to null for none: one hunk, with all that differs. */
export function diffOf(path: string, from: FileShown | null, to: { text: string } | null): string {
  const what = to === null ? 'deletes' : from === null ? 'creates' : 'changes';
  const after = to === null ? [] : linesOf(to.text);
  if (from !== null && from.text === null) {
    const whole = `@@ ${to === null ? what : 'replaces'} ${path}, which cannot be shown: ${from.why} @@`;
    return shortened([whole, ...withMark('+', after)]);
  }
  const before = from === null ? [] : linesOf(from.text);
  const same = (one: number, other: number) => before[one] === after[other];
  const least = Math.min(before.length, after.length);
  let head = 0;
  while (head < least && same(head, head)) head += 1;
  let tail = 0;
  while (tail < least - head && same(before.length - 1 - tail, after.length - 1 - tail)) tail += 1;
  if (what === 'changes' && head === before.length && head === after.length) return `${path}: no change`;
  return shortened([
    `@@ ${what} ${path}${what === 'changes' ? `, line ${head + 1}` : ''} @@`,
    ...withMark(' ', before.slice(Math.max(0, head - around), head)),
    ...withMark('-', before.slice(head, before.length - tail)),
    ...withMark('+', after.slice(head, after.length - tail)),
    ...withMark(' ', before.slice(before.length - tail, before.length - tail + around)),
  ]);
}

function withMark(mark: string, lines: readonly string[]): string[] {
  return lines.map((line) => `${mark}${line}`);
}

function shortened(lines: readonly string[]): string {
  const more = lines.length - mostLines;
  return [...lines.slice(0, mostLines), ...(more > 0 ? [`… and ${more} more lines`] : [])].join('\n');
}

/** The lines of a text. A last one without its end is another line than one with it. */
function linesOf(text: string): string[] {
  if (text === '') return [];
  return text.endsWith('\n') ? text.slice(0, -1).split('\n') : `${text} (no newline at the end)`.split('\n');
}
