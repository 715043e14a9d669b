/** A STOP's request in a `comments.md`; an empty request only stops the run. */
export type StopRequest = { request: string; component: string | null };

/** Matches a line that starts with STOP in capitals, with any Markdown around it. Quoted lines do not match. */
const marker = /^[\s#*_-]*STOP(?![A-Za-z0-9_])[*_]*[\s:.,!–—-]*(.*)$/u;
const heading = /^#{1,6}\s/;
const component = /^[\s*_-]*component[*_]*\s*:[*_]*(.*?)[*_\s]*$/i;

/**
 * Finds the first STOP in `text`, or null. Its request is the rest of the line and the lines up to the next heading. A
 * `Component: …` line among them names the component. Code blocks do not count.
 */
export function stopRequestIn(text: string): StopRequest | null {
  const lines = text.split(/\r?\n/);
  let fence: string | null = null;
  for (const [index, line] of lines.entries()) {
    const [mark = null] = /^\s*(```|~~~)/.exec(line)?.slice(1) ?? [];
    if (mark !== null) fence = fence === null ? mark : fence === mark ? null : fence;
    if (fence !== null) continue;
    const found = marker.exec(line);
    if (found !== null) return requestFrom(found[1] ?? '', lines.slice(index + 1));
  }
  return null;
}

function requestFrom(sameLine: string, after: readonly string[]): StopRequest {
  const end = after.findIndex((line) => heading.test(line));
  const below = end === -1 ? after : after.slice(0, end);
  const named = below.flatMap((line) => component.exec(line)?.[1] ?? []);
  const words = below.filter((line) => !component.test(line));
  const request = [sameLine.trim(), ...words].join('\n').trim();
  return { request, component: named.map((name) => name.trim()).find((name) => name !== '') ?? null };
}
