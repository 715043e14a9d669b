import { join } from 'node:path';
import { readIfThere, writeAtomically } from './files.ts';
import type { KindLayout } from './item-kinds.ts';

export type SummaryRow = {
  id: string;
  title: string;
  priority: string;
  status: string;
  component: string;
  folder: string;
};

const columns = ['ID', 'Title', 'Priority', 'Status', 'Component', 'Folder'];

/** Adds an item to the summary of its kind: as the last row of the first item table, or in a new table at the end. */
export function addToSummary(backlog: string, layout: KindLayout, row: SummaryRow): void {
  const path = join(backlog, layout.summaryFile);
  const lines = (readIfThere(path) ?? `# ${layout.summaryTitle}\n`).split('\n');
  const table = idTable(lines);
  if (table === null) {
    while (lines.at(-1) === '') lines.pop();
    lines.push('', line(columns), line(columns.map(() => '---')), line(columns.map((name) => cellFor(name, row))), '');
  } else {
    const end = lines[table.start - 1]?.endsWith('\r') ? '\r' : '';
    lines.splice(table.end, 0, `${line(table.columns.map((name) => cellFor(name, row)))}${end}`);
  }
  writeAtomically(path, lines.join('\n'));
}

/** Updates an item's row in the summary. Returns false and writes nothing if there is no such row. */
export function updateSummary(backlog: string, layout: KindLayout, id: string, change: Partial<SummaryRow>): boolean {
  const path = join(backlog, layout.summaryFile);
  const lines = (readIfThere(path) ?? '').split('\n');
  const table = idTable(lines);
  if (table === null) return false;
  const at = lines.findIndex(
    (text, index) =>
      index >= table.start && index < table.end && new RegExp(`\\b${id}\\b`, 'i').test(cells(text)[table.id] ?? ''),
  );
  const row = cells(lines[at] ?? '');
  if (at === -1) return false;
  const end = lines[at]?.endsWith('\r') ? '\r' : '';
  // Cells beyond the columns are kept too.
  const changed = row.map((cell, index) => changedCell(table.columns[index] ?? '', change) ?? cell);
  lines[at] = `${line(changed)}${end}`;
  writeAtomically(path, lines.join('\n'));
  return true;
}

type Table = { columns: string[]; id: number; start: number; end: number };

function idTable(lines: readonly string[]): Table | null {
  for (const [index, text] of lines.entries()) {
    const head = cells(text);
    const id = head.findIndex((name) => /^(id|bug|feature|action)( ?id)?$/i.test(name));
    // A table with ids but no other item fields is not a summary.
    if (
      id === -1 ||
      !head.some((name) => /^(title|name|summary|status|priority)$/i.test(name)) ||
      !/^\s*\|?[\s:|-]+\|?\s*$/.test(lines[index + 1] ?? '')
    )
      continue;
    let end = index + 2;
    while (cells(lines[end] ?? '').length > 0) end += 1;
    return { columns: head, id, start: index + 2, end };
  }
  return null;
}

function cells(text: string): string[] {
  const match = /^\s*\|(.*)\|\s*$/.exec(text);
  return match === null ? [] : (match[1] ?? '').split(/(?<!\\)\|/).map((cell) => cell.trim());
}

function line(values: readonly string[]): string {
  return `| ${values.join(' | ')} |`;
}

function cellFor(column: string, row: SummaryRow): string {
  return changedCell(column, row) ?? '';
}

/** Returns the cell for a column, by any of the column's usual names; null for unknown columns. */
function changedCell(column: string, row: Partial<SummaryRow>): string | null {
  const name = column.toLowerCase();
  const value = /^(id|bug|feature|action)( ?id)?$/.test(name)
    ? row.id
    : /^(title|name|summary)$/.test(name)
      ? row.title
      : name === 'priority'
        ? row.priority
        : name === 'status'
          ? row.status
          : name === 'component'
            ? row.component
            : /^(folder|location|path)$/.test(name)
              ? row.folder
              : undefined;
  return value === undefined ? null : value.replace(/\s+/g, ' ').replaceAll('|', '\\|');
}
