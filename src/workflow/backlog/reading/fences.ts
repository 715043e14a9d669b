/** The line in place of the middle of a long text, after which no line can tell whether it is in a code block. */
export const leftOut = (bytes: number) => `[${bytes} bytes left out]`;
const isLeftOut = (line: string) => /^\[\d+ bytes left out\]$/.test(line);

/** Returns the lines with those of code blocks, and their fences, as empty ones: what they hold says nothing of an item. */
export function withoutCode(lines: readonly string[]): string[] {
  return withoutBlocks(lines).lines;
}

/** As `withoutCode`, but for a block that is never closed: what a text says to its end is not lost by one sign. */
export function withoutClosedCode(lines: readonly string[]): string[] {
  const { lines: others, open } = withoutBlocks(lines);
  return open === null ? others : [...others.slice(0, open), ...lines.slice(open)];
}

/** `open`: where the block begins that is still open at the end. */
function withoutBlocks(lines: readonly string[]): { lines: string[]; open: number | null } {
  let fence: string | null = null;
  let open: number | null = null;
  const known = lines.findIndex(isLeftOut);
  const others = lines.map((line, index) => {
    if (known !== -1 && index >= known) return line;
    const isInside = fence !== null;
    fence = fenceAfter(line.replace(/\r$/, ''), fence);
    if (fence === null) open = null;
    else if (!isInside) open = index;
    return isInside || fence !== null ? '' : line;
  });
  return { lines: others, open };
}

/** Signs of lists, in whose items a code block may begin. */
const listSigns = /^(?:\s*(?:[-*+]|\d{1,9}[.)])\s+)+/;

/** Returns the fence of the code block that is open after a line, or null. A block ends at a fence of at least its length. */
function fenceAfter(line: string, open: string | null): string | null {
  const own = open === null ? line.replace(listSigns, '') : line;
  const [, fence = '', rest = ''] = /^\s*(`{3,}(?=[^`]*$)|~{3,})(.*)$/.exec(own) ?? [];
  if (open === null) return fence === '' ? null : fence;
  return fence.startsWith(open) && rest.trim() === '' ? null : open;
}
