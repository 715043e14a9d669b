import { withoutCode } from './reading/fences.ts';

/** A STOP's request in a `comments.md`; an empty request only stops the run. */
export type StopRequest = { request: string; component: string | null };

/** What may stand before a STOP: Markdown, a number or an open box of a list, an HTML comment, a date, `Status:`. */
const before = [
  /^[\s#*_+-]+/,
  /^\d+[.)]\s/,
  /^\[ \]\s/,
  /^<!--/,
  /^\[?\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\]?\s*(?:[:|–—-]\s)?/,
  /^(?:status|state)[*_]*\s*[:=]/i,
];

/** STOP in capitals, alone, before a sign or in brackets: `STOP`, `STOP: …`, `[STOP] …`; but not `STOP-gap` or `STOP it`. */
const marker = /^(?:\[?STOP\]?[*_]*\s*(?:-->|[:.,!–—]|-\s|$)|\[STOP\][*_]*\s)[\s:.,!–—-]*(.*)$/u;
const heading = /^#{1,6}\s/;
const component = /^[\s*_-]*component[*_]*\s*:(.*)$/i;

/**
 * Finds the first STOP in `text`, or null. Its request is the rest of the line and the lines up to the next heading. A
 * `Component: …` line among them names the component. Code blocks do not count.
 */
export function stopRequestIn(text: string): StopRequest | null {
  const lines = text.split(/\r?\n/);
  for (const [index, line] of withoutCode(lines).entries()) {
    const found = marker.exec(bare(line));
    // The marks of a bold STOP may end behind its colon, and a comment on a later line.
    const [rest = ''] = (found?.[1] ?? '').replace(/^[*_]+(?=\s|$)/, '').split('-->', 1);
    if (found !== null) return requestFrom(rest, lines.slice(index + 1));
  }
  return null;
}

/** Returns a line without what may stand before a STOP. A quoted line keeps its sign. */
function bare(line: string): string {
  let left = line;
  for (let length = -1; length !== left.length; ) {
    length = left.length;
    for (const pattern of before) left = left.replace(pattern, '');
  }
  return left;
}

function requestFrom(sameLine: string, after: readonly string[]): StopRequest {
  const end = after.findIndex((line) => heading.test(line));
  const below = end === -1 ? after : after.slice(0, end);
  const named = below.flatMap((line) => component.exec(line)?.[1] ?? []);
  const words = below.filter((line) => !component.test(line) && line.trim() !== '-->');
  const request = [sameLine.trim(), ...words].join('\n').trim();
  return { request, component: named.map(withoutMarks).find((name) => name !== '') ?? null };
}

/** Returns a name without the Markdown and the spaces around it. */
function withoutMarks(name: string): string {
  let [start, end] = [0, name.length];
  while (start < end && /[*_\s]/.test(name[start] ?? '')) start += 1;
  while (end > start && /[*_\s]/.test(name[end - 1] ?? '')) end -= 1;
  return name.slice(start, end);
}
