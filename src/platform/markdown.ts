import { lexer, type Token, type Tokens } from 'marked';

export type MarkdownToken = Token;
export type MarkdownTable = Tokens.Table;
export type MarkdownList = Tokens.List;

/** Longer texts are shown as they are: they are logs rather than Markdown, and take long to read. */
const mostChars = 100_000;
/** Deeper quotes and lists, and larger tables, take a reader and a screen more than anybody would read. */
const mostLevels = 20;
const mostCells = 20_000;

/**
 * Returns a text as Markdown, block by block. Null for one that is too long or nested too deeply, or has too large a table:
 * show it as it is.
 */
export function markdownTokens(text: string): MarkdownToken[] | null {
  if (text.length > mostChars || isDeep(text) || hasLargeTable(text)) return null;
  try {
    const tokens = lexer(text);
    return levelsIn(tokens) > mostLevels ? null : tokens;
  } catch (error) {
    // What is nested in a way that the lines do not show exceeds the stack.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Whether a line begins with more quotes or items than a text may have, which the lexer would read one by one. */
function isDeep(text: string): boolean {
  return new RegExp(`^(?:[ \\t]*(?:>|[-*+]|\\d{1,9}[.)])){${mostLevels + 1}}`, 'm').test(text);
}

/** Each row of a table gets as many cells as its head has, however few it names. */
function hasLargeTable(text: string): boolean {
  const lines = text.split('\n');
  const columns = lines.map((line) => (/^[\s>:|-]*\|[\s:|-]*$/.test(line) ? line.split('|').length : 0));
  return Math.max(...columns) * lines.length > mostCells;
}

/** How deeply the tokens are nested, as far as that matters. */
function levelsIn(tokens: readonly MarkdownToken[]): number {
  let [level, within] = [0, tokens];
  while (within.length > 0 && level <= mostLevels) {
    level += 1;
    within = within.flatMap((token) => [
      ...('tokens' in token ? (token.tokens ?? []) : []),
      ...(token.type === 'list' ? (token as MarkdownList).items : []),
    ]);
  }
  return level;
}

/** Whether a text is a change in the unified format of `diff`, by the head of its first part. */
export function isUnifiedDiff(text: string): boolean {
  return /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/m.test(text);
}
