import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { priorities } from '../../../../machines/index.ts';
import { readIfThere, textToChange, writeAtomically } from '../files.ts';
import type { KindLayout } from '../item-kinds.ts';
import { withoutClosedCode } from '../reading/fences.ts';
import { meaningOf } from '../reading/statuses.ts';
import { keptUp, recounted, sectionOf } from './summary-upkeep.ts';

export type SummaryRow = {
  id: string;
  title: string;
  priority: string;
  status: string;
  component: string;
  folder: string;
  /** Of a human action: how urgent it is, and what waits for it. */
  urgency?: string;
  blocking?: string;
};

const columns = ['ID', 'Title', 'Priority', 'Status', 'Component', 'Folder'];

/**
 * Adds an item to the summary of its kind: as the last row of the table in its priority's section, or in that of its kind,
 * or of the first table of open items, or in a new table at the end. Counts, dates and the list of recent activity are kept up. A summary that is not
 * UTF-8 stays as it is.
 */
export function addToSummary(backlog: string, layout: KindLayout, row: SummaryRow): void {
  const path = join(backlog, layout.summaryFile);
  const before = textToChange(path);
  // The item's folder tells of it too.
  if (before === null && existsSync(path)) return;
  const lines = (before ?? `# ${layout.summaryTitle}\n`).split('\n');
  const { heading, inSection, table } = placeFor(lines, row.priority, kindHeadings[layout.kind]);
  if (table === undefined) {
    addTable(lines, [line(columns), line(columns.map(() => '---')), line(columns.map((name) => cellFor(name, row)))]);
  } else {
    const end = lines[table.start - 1]?.endsWith('\r') ? '\r' : '';
    lines.splice(table.end, 0, `${line(table.columns.map((name) => cellFor(name, row)))}${end}`);
    if (inSection(table)) lines[heading] = recounted(lines[heading] ?? '', 1);
  }
  const { id, title } = row;
  writeAtomically(
    path,
    keptUp(lines, { date: today(), id, title, what: 'added', added: true, finished: false }).join('\n'),
  );
}

/** Adds a table where open items stand: at the end of their section, or before that of those that are done, or at the end. */
function addTable(lines: string[], table: readonly string[]): void {
  const isHeading = (text: string) => /^#{2,6}\s/.test(text);
  const open = lines.findIndex((text) => isHeading(text) && openHeading.test(text) && !doneHeading.test(text));
  const from = open === -1 ? lines.findIndex((text) => isHeading(text) && doneHeading.test(text)) : open;
  const next = open === -1 ? from : lines.findIndex((text, index) => index > open && isHeading(text));
  let at = next === -1 ? lines.length : next;
  const rest = lines.splice(at);
  while (lines.at(-1) === '') lines.pop();
  at = lines.length;
  const heading = open === -1 && next !== -1 ? ['', '## Open'] : [];
  lines.push(...heading, '', ...table, '', ...rest);
}

const openHeading = /\b(?:open|new|active|pending|to ?do|backlog|in progress)\b/i;

/** Headings of sections for one kind of item. */
const kindHeadings = {
  bug: /\b(?:bugs?|defects?)\b/i,
  feature: /\b(?:features?|enhancements?|improvements?)\b/i,
  'human-action': /\b(?:actions?|inquir(?:y|ies))\b/i,
} as const;

/** Headings of sections whose items are no longer worked on. */
const doneHeading = /\b(?:resolved|completed?|closed|done|fixed|archived?|deprecated|declined|rejected)\b/i;

/**
 * Finds the table for a priority: the table in its section, or else the first in a section of open items. `table` is
 * undefined if no table fits.
 */
function placeFor(lines: readonly string[], priority: string, kind: RegExp | null = null) {
  const heading = sectionOf(lines, priority);
  const next = lines.findIndex((text, index) => index > heading && /^#{1,6}\s/.test(text));
  const tables = [...idTables(lines)];
  const inSection = ({ start }: Table) => heading !== -1 && start > heading && (next === -1 || start < next);
  const headingOf = ({ start }: Table) => lines.slice(0, start).findLast((text) => /^#{1,6}\s/.test(text)) ?? '';
  const open = tables.filter((table) => !doneHeading.test(headingOf(table)));
  const ofKind = kind === null ? undefined : open.find((table) => kind.test(headingOf(table)));
  return { heading, inSection, table: tables.find(inSection) ?? ofKind ?? open[0] };
}

/** Moves an item's row to the section of its new priority, if the tables of both sections have the same columns. */
function moveRow(lines: string[], own: string, to: string): void {
  const place = placeFor(lines, to);
  if (place.table === undefined || !place.inSection(place.table)) return;
  for (const from of priorities.filter((one) => one !== to)) {
    const { heading, inSection } = placeFor(lines, from);
    const { columns } = place.table;
    const tables = [...idTables(lines)].filter((one) => inSection(one) && one.columns.join() === columns.join());
    const at = tables.flatMap(({ start, end, id }) =>
      lines.slice(start, end).flatMap((text, index) => (idIn(cells(text)[id] ?? '') === own ? [start + index] : [])),
    )[0];
    if (at === undefined) continue;
    lines[heading] = recounted(lines[heading] ?? '', -1);
    lines[place.heading] = recounted(lines[place.heading] ?? '', 1);
    const [row = ''] = lines.splice(at, 1);
    lines.splice(at < place.table.end ? place.table.end - 1 : place.table.end, 0, row);
    return;
  }
}

/** Returns what the tables of a summary say of their items, by id as in `BUG-7`. The last row of an item counts. */
export function summaryRows(backlog: string, layout: KindLayout): Map<string, Partial<SummaryRow>> {
  const lines = (readIfThere(join(backlog, layout.summaryFile)) ?? '').split('\n');
  const rows = new Map<string, Partial<SummaryRow>>();
  for (const { columns: names, id, start, end } of idTables(lines)) {
    for (const text of lines.slice(start, end)) {
      const values = cells(text);
      const own = idIn(values[id] ?? '');
      if (own === null) continue;
      const row: Partial<SummaryRow> = {};
      for (const [index, name] of names.entries()) {
        const field = fieldOf(name);
        if (field !== null && field !== 'id' && (values[index] ?? '') !== '') row[field] = values[index] ?? '';
      }
      rows.set(own, row);
    }
  }
  return rows;
}

/** Updates an item's rows in the summary, and what counts them. Returns false and writes nothing if there is no row. */
export function updateSummary(backlog: string, layout: KindLayout, id: string, change: Partial<SummaryRow>): boolean {
  const path = join(backlog, layout.summaryFile);
  const lines = (textToChange(path) ?? '').split('\n');
  const own = idIn(id);
  let title = '';
  let wasOpen = false;
  let isFound = false;
  for (const table of idTables(lines)) {
    for (let at = table.start; at < table.end; at += 1) {
      const row = cells(lines[at] ?? '');
      if (own === null || idIn(row[table.id] ?? '') !== own) continue;
      const end = lines[at]?.endsWith('\r') ? '\r' : '';
      const cellOf = (field: keyof SummaryRow) => row[table.columns.findIndex((name) => fieldOf(name) === field)] ?? '';
      title = cellOf('title') || title;
      wasOpen ||= meaningOf(cellOf('status')) !== 'done';
      isFound = true;
      // Cells beyond the columns are kept too.
      lines[at] = `${line(row.map((cell, index) => changedCell(table.columns[index] ?? '', change) ?? cell))}${end}`;
    }
  }
  if (!isFound) return false;
  const { status = '', priority } = change;
  if (own !== null && priority !== undefined) moveRow(lines, own, priority);
  const finished = wasOpen && meaningOf(status) === 'done';
  const event = { date: today(), id, title, what: status, added: false, finished };
  writeAtomically(path, (status === '' ? lines : keptUp(lines, event)).join('\n'));
  return true;
}

type Table = { columns: string[]; id: number; start: number; end: number };

/** Returns the first id in a cell, as in `BUG-7`; null without one. */
function idIn(cell: string): string | null {
  const [, prefix, number] = /\b([A-Z]+)-(\d+)\b/i.exec(cell) ?? [];
  return prefix === undefined ? null : `${prefix.toUpperCase()}-${Number(number)}`;
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** The tables of items, except those in code blocks. */
function* idTables(all: readonly string[]): Generator<Table, undefined> {
  const lines = withoutClosedCode(all);
  for (const [index, text] of lines.entries()) {
    const head = cells(text).map((name) => name.replaceAll(/[*_`]/g, '').trim());
    const id = head.findIndex((name) => /^(id|bug|feature|action)( ?id)?$/i.test(name));
    // A table with ids but no other item fields is not a summary.
    if (
      id === -1 ||
      !head.some((name) => /^(title|name|summary|status|priority)$/i.test(name)) ||
      !isSeparator(lines[index + 1] ?? '', head.length)
    )
      continue;
    let end = index + 2;
    while (isRow(lines[end] ?? '', id)) end += 1;
    yield { columns: head, id, start: index + 2, end };
    // Rows that stand below the table, as people and tools append them.
    for (; end < lines.length && !/^#{1,6}\s/.test(lines[end] ?? ''); end += 1) {
      const row = cells(lines[end] ?? '');
      if (isSeparator(lines[end + 1] ?? '', row.length)) break;
      const isStray = /^\s*\|/.test(lines[end] ?? '') && row.length === head.length && idIn(row[id] ?? '') !== null;
      if (isStray) yield { columns: head, id, start: end, end: end + 1 };
    }
  }
}

/** Whether a line separates the head of a table from its rows. */
function isSeparator(text: string, columns: number): boolean {
  const marks = cells(text);
  return columns > 0 && marks.length === columns && marks.every((mark) => /^:?-+:?$/.test(mark));
}

/** Whether a line is a row. Without a bar at its beginning it may be prose, unless its id begins a cell. */
function isRow(text: string, id: number): boolean {
  const row = cells(text);
  return row.length > 0 && (/^\s*\|/.test(text) || /^[*_`]*[A-Z]+-\d+\b/i.test(row[id] ?? ''));
}

/** Returns the cells of a row, which need no bars around them; none for any other line. */
function cells(text: string): string[] {
  const inner = text
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return /(?<!\\)\|/.test(text) ? inner.split(/(?<!\\)\|/).map((cell) => cell.trim()) : [];
}

function line(values: readonly string[]): string {
  return `| ${values.join(' | ')} |`;
}

function cellFor(column: string, row: SummaryRow): string {
  return changedCell(column, row) ?? '';
}

/** Returns the field that a column holds, by any of its usual names; null for unknown columns. */
function fieldOf(column: string): keyof SummaryRow | null {
  const name = column.toLowerCase();
  if (/^(id|bug|feature|action)( ?id)?$/.test(name)) return 'id';
  if (/^(title|name|summary)$/.test(name)) return 'title';
  if (/^(folder|location|path)$/.test(name)) return 'folder';
  if (/^block(s|ing|ed)?( ?items?)?$/.test(name)) return 'blocking';
  if (name === 'urgency') return 'urgency';
  return name === 'priority' || name === 'status' || name === 'component' ? name : null;
}

/**
 * Returns the cell for a column; null for unknown columns, and for fields that do not change. A bar becomes a slash, since
 * some readers of these files cut lines at escaped bars, too.
 */
function changedCell(column: string, row: Partial<SummaryRow>): string | null {
  const field = fieldOf(column);
  const value = field === null ? undefined : row[field];
  return value === undefined ? null : value.replace(/\s+/g, ' ').replaceAll('|', '/');
}
