/** Lines around a change that are shown, and lines that are shown in all. */
const around = 3;
const mostLines = 200;

/** Returns what a person is shown of a change to a file: one hunk, from the first line that differs to the last. */
export function diffOf(path: string, before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  const same = (one: number, other: number) => old[one] === now[other];
  let head = 0;
  while (head < Math.min(old.length, now.length) && same(head, head)) head += 1;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && same(old.length - 1 - tail, now.length - 1 - tail))
    tail += 1;
  if (head === old.length && head === now.length) return `${path}: no change`;
  const marked = (mark: string, lines: readonly string[]) => lines.map((line) => `${mark}${line}`);
  const hunk = [
    `@@ line ${head + 1} of ${path} @@`,
    ...marked(' ', old.slice(Math.max(0, head - around), head)),
    ...marked('-', old.slice(head, old.length - tail)),
    ...marked('+', now.slice(head, now.length - tail)),
    ...marked(' ', old.slice(old.length - tail, old.length - tail + around)),
  ];
  const more = hunk.length - mostLines;
  return [...hunk.slice(0, mostLines), ...(more > 0 ? [`… and ${more} more lines`] : [])].join('\n');
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
