/**
 * Returns a function that tests whether a path, with slashes, matches a pattern: `*` and `?` match within a name, `**` any
 * number of folders, and `{a,b}` one of several texts. A slash at the end means all files in a folder. A pattern without
 * another slash matches names in any folder. Takes patterns for which `isGlob` holds.
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  const alternatives = expanded(pattern).map((one) => {
    const named = /\/./.test(one) ? one.replace(/^\.?\//, '') : `**/${one}`;
    return named.replace(/\/$/, '/**').split('/').map(partMatcher);
  });
  return (path) => alternatives.some((parts) => matches(parts, path.split('/')));
}

type Part = 'any folders' | ((name: string) => boolean);

function partMatcher(part: string): Part {
  if (part === '**') return 'any folders';
  const pieces = part.split(/\*+/);
  return (name) => isMade(name, pieces);
}

/** Whether a name starts with the first piece, ends with the last one, and contains the others in this order. */
function isMade(name: string, pieces: readonly string[]): boolean {
  const [first = '', ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return name.length === first.length && isAt(name, first, 0);
  if (name.length < first.length + last.length || !isAt(name, first, 0)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const piece of rest) {
    while (at + piece.length <= end && !isAt(name, piece, at)) at += 1;
    at += piece.length;
    if (at > end) return false;
  }
  return isAt(name, last, end);
}

function isAt(name: string, piece: string, at: number): boolean {
  return piece.split('').every((char, index) => char === '?' || name[at + index] === char);
}

function matches(parts: readonly Part[], names: readonly string[]): boolean {
  // The positions in `names` where a match of the previous parts can end.
  let ends = new Set([0]);
  for (const part of parts) {
    const next = new Set<number>();
    for (const at of ends) {
      if (part === 'any folders') for (let end = at; end <= names.length; end += 1) next.add(end);
      else if (at < names.length && part(names[at] ?? '')) next.add(at + 1);
    }
    ends = next;
  }
  return ends.has(names.length);
}

/** The maximum number of alternatives in a pattern. */
export const mostAlternatives = 64;

/** Whether a pattern has few enough alternatives. */
export function isGlob(pattern: string): boolean {
  return expanded(pattern).length <= mostAlternatives;
}

/** Returns a pattern that matches this path, and possibly others, because braces cannot be escaped. */
export function globOf(path: string): string {
  return path.replaceAll(/[{}]/g, '?');
}

/** The first braces of a pattern that hold no others, between what is before and after them. */
const braces = /^(.*?)\{([^{}]*)\}(.*)$/s;

/** Expands `{a,b}` into one pattern each, all of which have the same braces left. Stops beyond the limit. */
function expanded(pattern: string): string[] {
  let found = [pattern];
  while (found.length <= mostAlternatives && braces.test(found[0] ?? '')) {
    found = found.flatMap((one) => {
      const [, before = '', list = '', after = ''] = braces.exec(one) ?? [];
      return list.split(',').map((part) => `${before}${part}${after}`);
    });
  }
  return found;
}
