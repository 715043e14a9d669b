/** Texts for a terminal: harmless, and of a width. No word is broken unless it alone is wider. */

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns the text as one line of at most `width` characters, cut between two words. */
export function clip(text: string, width: number): string {
  const line = tame(text).replace(/\s+/g, ' ').trim();
  if (line.length <= width) return line;
  const cut = line.slice(0, Math.max(1, width - 1));
  const space = line[cut.length] === ' ' ? cut.length : cut.lastIndexOf(' ');
  return `${space > cut.length / 2 ? cut.slice(0, space) : cut}…`;
}

/** Returns the lines of a text, each at most `width` characters. Lines in a code block stay as they are. */
export function wrapped(text: string, width: number): string[] {
  let isCode = false;
  return tame(text)
    .split('\n')
    .flatMap((line) => {
      const isFence = /^\s*(```|~~~)/.test(line);
      if (isFence) isCode = !isCode;
      return isCode || isFence ? [line] : wrappedLine(line, width);
    });
}

/** Wraps one line; the rest of a list item or a quotation is indented as it is. */
export function wrappedLine(line: string, width: number): string[] {
  const [indent = ''] = /^\s*(?:[-*+>]|\d+[.)])?\s*/.exec(line) ?? [];
  const hanging = ' '.repeat(Math.min(indent.length, Math.floor(width / 2)));
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const at = space > (lines.length === 0 ? indent.length : hanging.length) ? space : width;
    lines.push(rest.slice(0, at).trimEnd());
    rest = hanging + rest.slice(at).trimStart();
  }
  return [...lines, rest];
}

/** Joins the parts of an emoji, and is harmless there. */
const joiner = '\u200d';

/**
 * Writes characters that control the terminal, or hide or reorder text, as escapes such as `\u{202e}`. Newlines, tabs and
 * the joiners of emoji stay.
 */
export function tame(text: string): string {
  return text.replace(/(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character, at: number) => {
    if (character === joiner && /(?:\p{Extended_Pictographic}|\ufe0f)$/u.test(text.slice(Math.max(0, at - 2), at)))
      return character;
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}
