/** Characters that mean more to a shell than themselves. */
const shellSigns = /[;&|<>$`(){}[\]*?~!#\n\r\\]/;

/**
 * Splits a command into its words, with quotes. Returns null for one that only a shell can run: with pipes, variables,
 * redirections and the like.
 */
export function wordsOf(command: string): string[] | null {
  const words: string[] = [];
  const pattern = /[ \t]*(?:"([^"$`\\]*)"|'([^']*)'|([^\s"']+))(?=\s|$)/y;
  const text = command.trim();
  while (pattern.lastIndex < text.length) {
    const [whole, double, single, bare] = pattern.exec(text) ?? [];
    if (whole === undefined || (bare !== undefined && shellSigns.test(bare))) return null;
    words.push(double ?? single ?? bare ?? '');
  }
  // A variable before a command is set by the shell.
  return words.length === 0 || /^\w+=/.test(words[0] ?? '') ? null : words;
}

/**
 * Whether a pattern allows a command: `npm test` allows just that, `git diff *` (or `git diff:*`) any words after it. A
 * command that only a shell can run is allowed by `*` alone.
 */
export function allows(pattern: string, command: string): boolean {
  if (pattern.trim() === '*') return true;
  const words = wordsOf(command);
  if (words === null) return false;
  const wanted = pattern.trim().replace(/:\*$/, ' *').split(/\s+/);
  const isOpen = wanted.at(-1) === '*';
  const fixed = isOpen ? wanted.slice(0, -1) : wanted;
  return fixed.every((word, index) => word === words[index]) && (isOpen || words.length === fixed.length);
}
