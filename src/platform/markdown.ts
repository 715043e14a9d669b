import { lexer, type Token, type Tokens } from 'marked';

export type MarkdownToken = Token;
export type MarkdownTable = Tokens.Table;
export type MarkdownList = Tokens.List;

/** Longer texts are shown as they are: they are logs rather than Markdown, and take long to read. */
const mostChars = 100_000;

/** Returns a text as Markdown, block by block. Null for one that is too long, or nested too deeply: show it as it is. */
export function markdownTokens(text: string): MarkdownToken[] | null {
  if (text.length > mostChars) return null;
  try {
    return lexer(text);
  } catch {
    // Thousands of nested quotes exceed the stack.
    return null;
  }
}

/** Whether a text is a change in the unified format of `diff`, by the head of its first part. */
export function isUnifiedDiff(text: string): boolean {
  return /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/m.test(text);
}
