import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { KindLayout } from '../../src/workflow/backlog/item-kinds.ts';
import { addToSummary, summaryRows, updateSummary } from '../../src/workflow/backlog/summary/summary-file.ts';
import { keptUp, recounted, sectionOf } from '../../src/workflow/backlog/summary/summary-upkeep.ts';

const layout = { summaryFile: 'bugs.md', summaryTitle: 'Bugs' } as KindLayout;
const today = new Date().toISOString().slice(0, 10);
let backlog: string;
beforeEach(() => {
  backlog = mkdtempSync(join(tmpdir(), 'pawl-summary-'));
});
const path = () => join(backlog, layout.summaryFile);
const write = (text: string) => writeFileSync(path(), text);
const read = () => readFileSync(path(), 'utf8');
const row = (more: object = {}) => ({
  ...{ id: 'BUG-007', title: 'It breaks', priority: 'P1', status: 'new', component: 'core', folder: 'bugs/BUG-007' },
  ...more,
});
const added = (text: string | null, more: object = {}) => {
  if (text !== null) write(text);
  addToSummary(backlog, layout, row(more));
  return read();
};
const head = '| ID | Title |\n|---|---|\n';

describe('W-2: an item in the summary of its kind', () => {
  const table = '| ID | Title | Priority | Status | Component | Folder |\n| --- | --- | --- | --- | --- | --- |\n';
  const own = '| BUG-007 | It breaks | P1 | new | core | bugs/BUG-007 |\n';

  it('comes into a new table if there is none', () => {
    expect(added(null)).toBe(`# Bugs\n\n${table}${own}`);
    expect(added('# Ours\n\nText.\n\n\n')).toBe(`# Ours\n\nText.\n\n${table}${own}`);
    expect(added('| ID | Owner |\n|---|---|\n| BUG-1 | Ada |\n')).toContain(table);
    expect(added('| ID | Title |\nno line\n')).toContain(table);
    expect(added('| Title | Status |\n|---|---|\n')).toContain(table);
  });

  it.each([
    ['| ID | Title |\n|---|---|\n', '| BUG-007 | It breaks |\n'],
    ['| Bug | Name | Owner |\n|:--|:-:|---|\n', '| BUG-007 | It breaks |  |\n'],
    ['| bug id | Summary | Location |\n---|---|---\n', '| BUG-007 | It breaks | bugs/BUG-007 |\n'],
    ['| Feature ID | Status | Path |\n| - | - | - |\n', '| BUG-007 | new | bugs/BUG-007 |\n'],
    ['| Action | Priority | COMPONENT | Folder |\n|---|---|---|---|\n', '| BUG-007 | P1 | core | bugs/BUG-007 |\n'],
  ])('fills the columns that a table has: %j', (text, line) => {
    expect(added(`# B\n\n${text}| BUG-1 | x |\n\nEnd.\n`)).toBe(`# B\n\n${text}| BUG-1 | x |\n${line}\nEnd.\n`);
  });

  it.each([
    ['no bars around rows', 'ID | Title | Status\n--- | --- | ---\nBUG-007 | one | completed\nBUG-8 | two | done\n'],
    [
      'a row without its last bar',
      '| ID | Title | Status |\n|---|---|---|\n| BUG-007 | one | completed\n| BUG-8 | two | done |\n',
    ],
    [
      'heads in bold',
      '| **ID** | __Title__ | `Status` |\n|:--|:-:|--:|\n| BUG-007 | one | completed |\n| BUG-8 | two | done |\n',
    ],
  ])('reads and keeps a table with %s', (_, text) => {
    write(text);
    const statuses = [...summaryRows(backlog, layout)].map(([id, { status }]) => [id, status]);
    expect(statuses).toEqual([
      ['BUG-7', 'completed'],
      ['BUG-8', 'done'],
    ]);
    expect(updateSummary(backlog, layout, 'BUG-007', { status: 'new' })).toBe(true);
    expect(read()).toBe(text.replace(/^.*BUG-007.*$/m, '| BUG-007 | one | new |'));
    expect(added(null, { id: 'BUG-009' })).toMatch(/BUG-8.*\n\| BUG-009 \| It breaks \| new \|\n$/);
  });

  it.each(['```\n', '~~~~\n'])('an example in a code block is no table', (fence) => {
    const example = `Format:\n\n${fence}| ID | Title | Status |\n|---|---|---|\n| BUG-7 | It breaks | completed |\n${fence}\n`;
    write(example);
    expect(summaryRows(backlog, layout).size).toBe(0);
    expect(updateSummary(backlog, layout, 'BUG-007', { status: 'new' })).toBe(false);
    expect(added(`${head}\n${example}`)).toBe(`${head}| BUG-007 | It breaks |\n\n${example}`);
    expect(added(example)).toBe(`${example.trimEnd()}\n\n${table}${own}`);
  });

  it('an example in a code block is no table in a file with CRLF either', () => {
    write('```\n| ID | Title |\n|---|---|\n| BUG-7 | x |\n```\n'.replaceAll('\n', '\r\n'));
    expect(summaryRows(backlog, layout).size).toBe(0);
  });

  it('a code block that is never closed hides no table', () => {
    write(`${head}| BUG-1 | One |\n\n\`\`\`\nmore\n\n${head}| BUG-2 | Two |\n`);
    expect([...summaryRows(backlog, layout).keys()]).toEqual(['BUG-1', 'BUG-2']);
    expect(added(null)).toContain('| BUG-1 | One |\n| BUG-007 | It breaks |\n');
  });

  it.each([
    ['a heading that is underlined', 'Bug | Status\n---\nBUG-1 | done\n', []],
    ['a list after a table', `${head}| BUG-1 | One |\n- BUG-1 | a note\n`, [['BUG-1', 'One']]],
    ['a sentence after a table', `${head}| BUG-1 | One |\nThat is x | y\n`, [['BUG-1', 'One']]],
    ['too few columns in the line below the head', '| ID | Title | Status |\n|---|---|\n| BUG-1 | One | done |\n', []],
  ])('%s is no row', (_, text, rows) => {
    write(text);
    expect([...summaryRows(backlog, layout)].map(([id, { title }]) => [id, title])).toEqual(rows);
  });

  it('keeps the ends of lines, and breaks no row', () => {
    expect(added(head.replaceAll('\n', '\r\n'), { title: 'A |\n B' })).toBe(
      `${head.replaceAll('\n', '\r\n')}| BUG-007 | A / B |\r\n`,
    );
  });

  it('comes into the section of its priority, or else into the first table', () => {
    const sections = `## P0 (0)\n\n${head}\n## P1 (2)\n\n${head}| BUG-1 | One |\n\n## Done\n\n${head}`;
    expect(added(sections)).toBe(
      `## P0 (0)\n\n${head}\n## P1 (3)\n\n${head}| BUG-1 | One |\n| BUG-007 | It breaks |\n\n## Done\n\n${head}`,
    );
    expect(added(sections, { priority: 'P3' })).toBe(
      `## P0 (0)\n\n${head}| BUG-007 | It breaks |\n\n## P1 (2)\n\n${head}| BUG-1 | One |\n\n## Done\n\n${head}`,
    );
    expect(added(`${head}\n## P1 (2)\n\nNone.\n\n## Done\n\n${head}`)).toBe(
      `${head}| BUG-007 | It breaks |\n\n## P1 (2)\n\nNone.\n\n## Done\n\n${head}`,
    );
    expect(added(`${head}\n## P1 (2)\n\n${head}`)).toBe(`${head}\n## P1 (3)\n\n${head}| BUG-007 | It breaks |\n`);
  });
});

describe('what a summary says of its items', () => {
  it('is read from its tables, the last row of an item first', () => {
    expect(summaryRows(backlog, layout)).toEqual(new Map());
    write(
      '| ID | Title | Status | Owner |\n|---|---|---|---|\n| [bug-001](x) | One \\| two | new | Ada |\n| BUG-2 |  | done |\n| none | x | y |\n\n| ID | Priority | Name |\n|---|---|---|\n| BUG-2 | P0 | Two |\n',
    );
    expect([...summaryRows(backlog, layout)]).toEqual([
      ['BUG-1', { title: 'One \\| two', status: 'new' }],
      ['BUG-2', { priority: 'P0', title: 'Two' }],
    ]);
  });
});

describe('an item that changes in its summary', () => {
  const changed = (text: string, change: object, id = 'BUG-007') => {
    write(text);
    return [updateSummary(backlog, layout, id, change), read()];
  };

  it('changes in each of its rows, and nothing else does', () => {
    const text =
      '| ID | Status | Own |\n|---|---|---|\n| BUG-7 | new | a | b |\r\n| BUG-70 | new | c |\n\n| Bug | Status | Title |\n|---|---|---|\n| [bug-07](x) | open | T |\n';
    expect(changed(text, { status: 'fixed', priority: 'P0' })).toEqual([
      true,
      '| ID | Status | Own |\n|---|---|---|\n| BUG-7 | fixed | a | b |\r\n| BUG-70 | new | c |\n\n| Bug | Status | Title |\n|---|---|---|\n| [bug-07](x) | fixed | T |\n',
    ]);
  });

  it('that has no row, or no id, changes nothing', () => {
    expect(changed(`${head}| BUG-8 | x |\n`, { status: 'fixed' })).toEqual([false, `${head}| BUG-8 | x |\n`]);
    expect(changed(`${head}| none | x |\n`, { title: 'y' }, 'none')).toEqual([false, `${head}| none | x |\n`]);
    const none = mkdtempSync(join(tmpdir(), 'pawl-summary-'));
    expect(updateSummary(none, layout, 'BUG-7', { status: 'fixed' })).toBe(false);
    expect(existsSync(join(none, layout.summaryFile))).toBe(false);
  });

  it('counts as finished once, when it was open', () => {
    const text = (status: string, counts: string) =>
      `${counts}\n\n| ID | Title | Status |\n|---|---|---|\n| BUG-7 | T | ${status} |\n\n## Recent Activity\n\n- old\n`;
    const activity = (what: string) => `- ${today}: BUG-007 ${what}: T\n- old`;
    expect(changed(text('new', 'Open: 2\nClosed: 1'), { status: 'fixed' })[1]).toBe(
      text('fixed', 'Open: 1\nClosed: 2').replace('- old', activity('fixed')),
    );
    expect(changed(text('done', 'Open: 2\nClosed: 1'), { status: 'fixed' })[1]).toBe(
      text('fixed', 'Open: 2\nClosed: 1').replace('- old', activity('fixed')),
    );
    expect(changed(text('new', 'Open: 2\nClosed: 1'), { title: 'U' })[1]).toBe(
      text('new', 'Open: 2\nClosed: 1').replace('| T |', '| U |'),
    );
  });

  const section = (name: string, ...rows: string[]) =>
    `## ${name}\n\n${head}${rows.map((one) => `${one}\n`).join('')}\n`;
  it('moves to the section of its new priority', () => {
    const before = section('P0 (1)', '| BUG-1 | One |') + section('P1 (2)', '| BUG-7 | Seven |', '| BUG-2 | Two |');
    const after = section('P0 (2)', '| BUG-1 | One |', '| BUG-7 | Seven |') + section('P1 (1)', '| BUG-2 | Two |');
    expect(changed(before, { priority: 'P0' })).toEqual([true, after]);
    const back = section('P0 (1)', '| BUG-1 | One |') + section('P1 (2)', '| BUG-2 | Two |', '| BUG-7 | Seven |');
    expect(changed(after, { priority: 'P1' })).toEqual([true, back]);
    expect(changed(back, { priority: 'P1' })).toEqual([true, back]);
  });

  it('stays where it is if the other section has no table, or one with other columns', () => {
    const others = ['## P0 (0)\n\nNone.\n\n', '## P0 (0)\n\n| ID | Title | Owner |\n|---|---|---|\n\n', ''];
    for (const other of others) {
      const text = other + section('P1 (1)', '| BUG-7 | Seven |');
      expect(changed(text, { priority: 'P0' })).toEqual([true, text]);
    }
  });
});

describe('what stands around the tables', () => {
  const event = { date: '2026-02-03', id: 'BUG-7', title: 'T', what: 'added', added: true, finished: false };
  const kept = (line: string, more: object = {}) => keptUp([line], { ...event, ...more })[0];

  it.each([
    ['Last Updated: 2026-01-01', 'Last Updated: 2026-02-03'],
    ['> _Last update_: **2026-01-01** by me', '> _Last update_: **2026-02-03** by me'],
    ['**updated**: 2026-01-01', '**updated**: 2026-02-03'],
    ['last-updated: 2026-01-01', 'last-updated: 2026-02-03'],
    ['Created: 2026-01-01', 'Created: 2026-01-01'],
    ['It was updated: 2026-01-01', 'It was updated: 2026-01-01'],
    [`Last Updated: 2026-01-01${' '.repeat(200)}`, `Last Updated: 2026-01-01${' '.repeat(200)}`],
  ])('%j is dated', (line, expected) => expect(kept(line)).toBe(expected));

  it.each<[string, string, string]>([
    ['Total: 9', 'Total: 10', 'Total: 9'],
    ['- **All bugs**: **3**', '- **All bugs**: **4**', '- **All bugs**: **3**'],
    ['Open: 2', 'Open: 3', 'Open: 1'],
    ['* New Items: 0', '* New Items: 1', '* New Items: 0'],
    ['Active: 2', 'Active: 3', 'Active: 1'],
    ['Pending: 2', 'Pending: 3', 'Pending: 1'],
    ['Complete: 1', 'Complete: 1', 'Complete: 2'],
    ['completed: 1', 'completed: 1', 'completed: 2'],
    ['Resolved: 1 ', 'Resolved: 1 ', 'Resolved: 2 '],
    ['Done: 1', 'Done: 1', 'Done: 2'],
    ['Closed: 1', 'Closed: 1', 'Closed: 2'],
    ['Fixed: 1', 'Fixed: 1', 'Fixed: 2'],
    ['Totally: 1', 'Totally: 1', 'Totally: 1'],
    ['Reopened: 1', 'Reopened: 1', 'Reopened: 1'],
    ['Total: 1 of 3', 'Total: 1 of 3', 'Total: 1 of 3'],
    ['The total: 1', 'The total: 1', 'The total: 1'],
  ])('%j counts what is added and what is finished', (line, one, other) => {
    expect([kept(line), kept(line, { added: false, finished: true })]).toEqual([one, other]);
  });

  it.each<[string[], string[]]>([
    [['Text.'], ['Text.']],
    [
      ['# Recent Activity', '- a'],
      ['# Recent Activity', '- a'],
    ],
    [['## Recent Activity'], ['## Recent Activity', '', '- 2026-02-03: BUG-7 added: T']],
    [
      ['## Our recent changes', '', '  * a', '- b'],
      ['## Our recent changes', '', '* 2026-02-03: BUG-7 added: T', '  * a', '- b'],
    ],
    [
      ['- before', '### Recent Updates', 'Text.', '## Next', '- b'],
      ['- before', '### Recent Updates', '', '- 2026-02-03: BUG-7 added: T', 'Text.', '## Next', '- b'],
    ],
  ])('%j lists what happened last', (lines, expected) => expect(keptUp(lines, event)).toEqual(expected));

  it('has the section of a priority by its number, or else by its name', () => {
    const lines = [
      '# P0',
      '## Critical',
      '## High-level goals',
      '### P1 items',
      '## Medium',
      '####### P3',
      '## Low',
      '## P12',
    ];
    expect(['P0', 'P1', 'P2', 'P3', 'P4'].map((priority) => sectionOf(lines, priority))).toEqual([1, 3, 4, 6, -1]);
    expect(sectionOf(['## high-end', '## Urgent'], 'P1')).toBe(-1);
    expect(sectionOf(['## Urgent'], 'P0')).toBe(0);
  });

  it.each([
    ['## P1 (3)', '## P1 (4)', '## P1 (2)'],
    ['## P1 (0 bugs)', '## P1 (1 bugs)', '## P1 (0 bugs)'],
    ['## P1 (3 Open) ', '## P1 (4 Open) ', '## P1 (2 Open) '],
    ['## (3) P1', '## (3) P1', '## (3) P1'],
    ['## P1 (3 of us)', '## P1 (3 of us)', '## P1 (3 of us)'],
  ])('%j counts its items', (heading, more, less) => {
    expect([recounted(heading, 1), recounted(heading, -1)]).toEqual([more, less]);
  });
});
