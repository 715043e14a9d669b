import { stripVTControlCharacters } from 'node:util';
import {
  isUnifiedDiff,
  type MarkdownList,
  type MarkdownTable,
  type MarkdownToken,
  markdownTokens,
} from '../../platform/markdown.ts';
import { tame } from '../../platform/text.ts';
import type { Screen } from './screen.ts';
import { columnsOf, shownLine, wrapped, wrappedPainted } from './text.ts';

/** Columns of a text, however deep it stands. */
const leastColumns = 10;

/** Returns Markdown as lines for a terminal; without one, as it is written. */
export function markdownLines(text: string, screen: Screen): string[] {
  const tokens = screen.isTerminal ? markdownTokens(tame(text)) : null;
  if (tokens === null) return wrapped(text, screen.textWidth);
  return spaced(tokens).flatMap((token) => blockLines(token, screen, screen.textWidth));
}

/** Blocks with one empty line between them, and none at the ends. */
function spaced(tokens: readonly MarkdownToken[]): MarkdownToken[] {
  const blocks = tokens.filter(({ type }) => type !== 'space' && type !== 'def');
  const gap: MarkdownToken = { type: 'space', raw: '' };
  return blocks.flatMap((token, index) => (index === 0 ? [token] : [gap, token]));
}

function blockLines(token: MarkdownToken, screen: Screen, width: number): string[] {
  switch (token.type) {
    case 'space':
      return [''];
    case 'heading':
      return wrappedPainted(screen.paint(['bold', 'underline'], inline(token.tokens, screen)), width);
    case 'blockquote':
      return spaced(token.tokens ?? [])
        .flatMap((one) => blockLines(one, screen, Math.max(leastColumns, width - 2)))
        .map((line) => `${screen.paint('dim', '│')} ${line}`);
    case 'list':
      return listLines(token as MarkdownList, screen, width);
    case 'table':
      return tableLines(token as MarkdownTable, screen, width);
    case 'code':
      return codeLines(token.text, token.lang === 'diff', screen);
    case 'hr':
      return [screen.paint('dim', '─'.repeat(Math.min(width, 40)))];
    default:
      return inline([token], screen)
        .split('\n')
        .flatMap((line) => wrappedPainted(line, width));
  }
}

/** Code is not wrapped: a line that is copied from a terminal is then still one. */
function codeLines(text: string, isDiff: boolean, screen: Screen): string[] {
  const styles = { '+': 'green', '-': 'red', '@': 'cyan' } as const;
  return text.split('\n').map((line) => {
    const mark = isDiff || isUnifiedDiff(text) ? line[0] : undefined;
    const style = mark === '+' || mark === '-' || mark === '@' ? styles[mark] : 'dim';
    return `    ${screen.paint(style, shownLine(line))}`;
  });
}

function listLines(list: MarkdownList, screen: Screen, width: number): string[] {
  const first = Number(list.start || 1);
  return list.items.flatMap((item, index) => {
    const box = item.task ? (item.checked === true ? '☑ ' : '☐ ') : '';
    const mark = list.ordered ? `${first + index}. ` : `• ${box}`;
    const room = Math.max(leastColumns, width - mark.length);
    const blocks = item.tokens.filter(({ type }) => type !== 'checkbox' && type !== 'space');
    const lines = blocks.flatMap((token) => blockLines(token, screen, room));
    return lines.map((line, place) => `${place === 0 ? mark : ' '.repeat(mark.length)}${line}`);
  });
}

/** A table with its columns in line; one that is too wide has a line for each cell. */
function tableLines({ header, rows }: MarkdownTable, screen: Screen, width: number): string[] {
  const cellsOf = (row: MarkdownTable['header']) =>
    row.map((cell) => inline(cell.tokens, screen).replaceAll('\n', ' '));
  const [heads, ...body] = [header, ...rows].map(cellsOf);
  const seen = (text: string) => columnsOf(stripVTControlCharacters(text));
  const widths = (heads ?? []).map((head, column) =>
    Math.max(seen(head), ...body.map((row) => seen(row[column] ?? ''))),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - seen(cell)))
      .join('  ')
      .trimEnd();
  const whole = widths.reduce((sum, one) => sum + one + 2, -2);
  if (whole <= width)
    return [screen.paint('bold', line(heads ?? [])), screen.paint('dim', '─'.repeat(whole)), ...body.map(line)];
  return body.flatMap((row, index) => [
    ...(index === 0 ? [] : ['']),
    ...row.flatMap((cell, column) => wrappedPainted(`${screen.paint('bold', heads?.[column] ?? '')}: ${cell}`, width)),
  ]);
}

function inline(tokens: readonly MarkdownToken[] | undefined, screen: Screen): string {
  return (tokens ?? []).map((token) => inlineText(token, screen)).join('');
}

function inlineText(token: MarkdownToken, screen: Screen): string {
  const inner = () => inline(token.type === 'list' ? [] : (token as { tokens?: MarkdownToken[] }).tokens, screen);
  switch (token.type) {
    case 'strong':
      return screen.paint('bold', inner());
    case 'em':
      return screen.paint('italic', inner());
    case 'del':
      return screen.paint('strikethrough', inner());
    case 'codespan':
      return screen.paint('cyan', token.text);
    case 'br':
      return '\n';
    case 'link': {
      const text = inner();
      return text === token.href
        ? screen.paint('underline', text)
        : `${text} (${screen.paint('underline', token.href)})`;
    }
    case 'image':
      return `picture: ${token.text === '' ? token.href : token.text}`;
    case 'paragraph':
      return inner();
    case 'text':
      return 'tokens' in token && token.tokens !== undefined ? inner() : token.text;
    case 'escape':
      return token.text;
    default:
      return token.raw.trimEnd();
  }
}
