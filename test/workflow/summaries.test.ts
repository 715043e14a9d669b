import { describe, expect, it } from 'vitest';
import { createWorkItem, type WorkFunction, type WorkItemInput } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });
const today = new Date().toISOString().slice(0, 10);
const bug = (over: Partial<WorkItemInput> = {}) =>
  ({ item_type: 'bug', title: 'It breaks', component: 'core', description: 'Now.', ...over }) as WorkItemInput;

const summary = `# Bugs

**Last Updated**: 2026-01-02

- **Total**: 3
- **Open**: 2
- **Resolved**: 1

## P0 - Critical (0)

| ID | Title | Status | Owner |
|----|-------|--------|-------|

## P1 - High Priority (1 item)

| ID | Title | Status | Owner |
|----|-------|--------|-------|
| BUG-001 | One | new | Ada |

## Resolved (1)

| Bug ID | Title | Status |
|---|---|---|
| BUG-003 | Three | fixed |

## Recent Activity

* 2026-01-02: BUG-001 added: One
`;

describe('a summary is kept whole', () => {
  it('a new item comes into the section of its priority, and what counts the items is kept up', async () => {
    const backlog = new TestBacklog();
    backlog.bug(3);
    backlog.write('bugs/bugs.md', summary);
    await createWorkItem(backlog.folder, bug({ priority: 'P1', title: 'A | B' }));
    expect(backlog.read('bugs/bugs.md')).toBe(
      summary
        .replace('**Last Updated**: 2026-01-02', `**Last Updated**: ${today}`)
        .replace('- **Total**: 3', '- **Total**: 4')
        .replace('- **Open**: 2', '- **Open**: 3')
        .replace('(1 item)', '(2 item)')
        .replace('| BUG-001 | One | new | Ada |\n', '| BUG-001 | One | new | Ada |\n| BUG-004 | A / B | new |  |\n')
        .replace('* 2026-01-02', `* ${today}: BUG-004 added: A | B\n* 2026-01-02`),
    );
  });

  it('a completed item changes in every table, and counts as resolved', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('bugs/bugs.md', `${summary}\n## All\n\n| ID | Status |\n|---|---|\n| [BUG-1](x) | new |\n`);
    const { result } = await runOver(backlog, { process: succeeds, test: succeeds });
    expect(result.succeeded).toEqual(['BUG-001']);
    const text = backlog.read('bugs/bugs.md');
    for (const part of ['- **Total**: 3', '- **Open**: 1', '- **Resolved**: 2', '| BUG-001 | One | completed | Ada |'])
      expect(text).toContain(part);
    expect(text).toContain('| [BUG-1](x) | completed |');
    expect(text).toContain(`* ${today}: BUG-001 completed: One\n* 2026-01-02: BUG-001 added: One`);
  });

  it('what people do not keep is not added, and no line of theirs is taken for a count', async () => {
    const backlog = new TestBacklog();
    const text = '# Bugs\n\nTotal: many\nOpen the door: 3 times\n\n| ID | Title |\n|---|---|\n';
    backlog.write('bugs/bugs.md', text);
    await createWorkItem(backlog.folder, bug());
    expect(backlog.read('bugs/bugs.md')).toBe(`${text}| BUG-001 | It breaks |\n`);
  });
});

describe('W-2: duplicates', () => {
  it('the same title is one, whatever the description; and so are resolved and unreadable ones', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1, { title: 'It breaks', description: 'Something else entirely, at length.' });
    backlog.bug(2, { title: 'It breaks', status: 'fixed' });
    backlog.write('bugs/BUG-003-it-breaks/bug_report.json', '{');
    backlog.write('completed/BUG-004-it-breaks/bug_report.json', '{}');
    backlog.write('features/FEAT-005-it-breaks/PROMPT.md', '# It breaks\n');
    const { duplicates, created } = await createWorkItem(backlog.folder, bug());
    expect(created).toBe(true);
    expect(duplicates).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 'BUG-001', isOpen: true, similarity: 1 }),
        expect.objectContaining({ id: 'BUG-002', isOpen: false, similarity: 1 }),
        expect.objectContaining({ id: 'BUG-003', isOpen: true, similarity: 1 }),
        expect.objectContaining({ id: 'BUG-004', isOpen: false, similarity: 1 }),
      ]),
    );
    expect(duplicates).toHaveLength(4);
  });

  it('a resolved one refuses nothing, since what was fixed may break again', async () => {
    const backlog = new TestBacklog();
    backlog.bug(2, { title: 'It breaks', status: 'fixed' });
    const { created, folder } = await createWorkItem(backlog.folder, bug({ on_duplicate: 'refuse' }));
    expect(created).toBe(true);
    expect(backlog.read(`${folder}/comments.md`)).toContain('BUG-002 "It breaks" (resolved), 100 % similar');
    const again = await createWorkItem(backlog.folder, bug({ on_duplicate: 'refuse' }));
    expect(again).toMatchObject({ created: false, id: null });
  });
});
