/** Characters that mean more to a shell than themselves. */
const shellSigns = /[;&|<>$`(){}[\]*?~!#\n\r\\]/;

/**
 * Splits a command into words, respecting quotes. Returns null if the command needs a shell, for example for a pipe, a
 * variable or a redirection.
 */
export function shellWords(command: string): string[] | null {
  const words: string[] = [];
  const pattern = /[ \t]*(?:"([^"$`\\]*)"|'([^']*)'|([^\s"']+))(?=\s|$)/y;
  const text = command.trim();
  while (pattern.lastIndex < text.length) {
    const [whole, double, single, bare] = pattern.exec(text) ?? [];
    if (whole === undefined || (bare !== undefined && shellSigns.test(bare))) return null;
    words.push(double ?? single ?? bare ?? '');
  }
  // Only a shell can set a variable before a command.
  return words.length === 0 || /^\w+=/.test(words[0] ?? '') ? null : words;
}

/**
 * Whether a pattern allows a command: `npm test` allows exactly this command, and `git diff *` (or `git diff:*`) allows any
 * arguments. Only `*` allows a command that needs a shell.
 */
export function allows(pattern: string, command: string): boolean {
  if (pattern.trim() === '*') return true;
  const words = shellWords(command);
  if (words === null) return false;
  const [, start = '', end] = /^(.*?)((?::|\s+)\*)?$/s.exec(pattern.trim()) ?? [];
  const isOpen = end !== undefined;
  const fixed = shellWords(start) ?? start.split(/\s+/);
  return fixed.every((word, index) => word === words[index]) && (isOpen || words.length === fixed.length);
}
