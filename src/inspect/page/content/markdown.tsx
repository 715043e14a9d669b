import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import {
  type MarkdownList,
  type MarkdownTable,
  type MarkdownToken,
  markdownTokens,
} from '../../../platform/markdown.ts';
import { Diff } from './diff.tsx';

/** Markdown as elements. HTML in it stays a text, and images are named, not loaded: a model wrote it. */
export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => markdownTokens(text), [text]);
  if (tokens === null) return <div class="text">{text}</div>;
  return <>{views(tokens)}</>;
}

function views(tokens: readonly MarkdownToken[] | undefined): ComponentChildren {
  return (tokens ?? []).map((token, index) => <View key={index} token={token} />);
}

function View({ token }: { token: MarkdownToken }): ComponentChildren {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading':
      return <p class="heading">{views(token.tokens)}</p>;
    case 'paragraph':
      return <p>{views(token.tokens)}</p>;
    case 'blockquote':
      return <blockquote>{views(token.tokens)}</blockquote>;
    case 'list':
      return <List list={token as MarkdownList} />;
    case 'table':
      return <Table table={token as MarkdownTable} />;
    case 'code':
      return token.lang === 'diff' ? <Diff text={token.text} /> : <pre>{token.text}</pre>;
    case 'hr':
      return <hr />;
    case 'br':
      return <br />;
    case 'strong':
      return <strong>{views(token.tokens)}</strong>;
    case 'em':
      return <em>{views(token.tokens)}</em>;
    case 'del':
      return <del>{views(token.tokens)}</del>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'link':
      return <Link href={token.href}>{views(token.tokens)}</Link>;
    case 'image':
      return <Link href={token.href}>picture: {token.text === '' ? token.href : token.text}</Link>;
    case 'text':
      return 'tokens' in token && token.tokens !== undefined ? views(token.tokens) : token.text;
    case 'escape':
      return token.text;
    default:
      return token.raw;
  }
}

/** Only an address of the web is a link; its target is in its title. */
function Link({ href, children }: { href: string; children: ComponentChildren }) {
  if (!/^https?:\/\//i.test(href)) return <span title={href}>{children}</span>;
  return (
    <a href={href} title={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}

function List({ list }: { list: MarkdownList }) {
  const items = list.items.map((item, index) => (
    <li key={index}>
      {item.task ? (item.checked === true ? '☑ ' : '☐ ') : ''}
      {views(item.tokens.filter(({ type }) => type !== 'checkbox'))}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start)}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: MarkdownTable }) {
  const row = (cells: MarkdownTable['header'], Cell: 'th' | 'td') => (
    <tr>
      {cells.map((cell, index) => (
        <Cell key={index}>{views(cell.tokens)}</Cell>
      ))}
    </tr>
  );
  return (
    <table>
      <thead>{row(table.header, 'th')}</thead>
      <tbody>{table.rows.map((cells) => row(cells, 'td'))}</tbody>
    </table>
  );
}
