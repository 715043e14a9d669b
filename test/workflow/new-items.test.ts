import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readBacklog } from '../../src/workflow/backlog/backlog.ts';
import { lockRun, whileLocked } from '../../src/workflow/backlog/lock.ts';
import { addComment, changeReport, createWorkItem } from '../../src/workflow/backlog/work-items.ts';
import type { WorkItemInput } from '../../src/workflow/index.ts';
import { temporaryFolder } from '../support/temporary.ts';

const item = (title: string, over: Partial<WorkItemInput> = {}) =>
  ({ item_type: 'bug', title, component: 'core', description: title, ...over }) as WorkItemInput;

/** Creates folders below a new backlog. */
function backlogWith(...folders: string[]): string {
  const backlog = temporaryFolder();
  for (const folder of folders) mkdirSync(join(backlog, folder), { recursive: true });
  return backlog;
}

/** A backlog with items that have reports. */
async function backlogOf(...titles: string[]): Promise<string> {
  const backlog = temporaryFolder();
  for (const title of titles) await createWorkItem(backlog, item(title));
  return backlog;
}

describe('a new item has the next id', () => {
  it.each([
    [[], 'BUG-001'],
    [['bugs/BUG-009-x'], 'BUG-010'],
    [['bugs/BUG-009-x', 'completed/BUG-011-y', 'bugs/BUG-002'], 'BUG-012'],
    [['features/FEAT-020-x', 'completed/FEAT-030'], 'BUG-001'],
    [['bugs/BUG-999'], 'BUG-1000'],
    [['bugs/BUG-99999999999999999999-x', 'bugs/BUG-003'], 'BUG-004'],
    [['bugs/notes', 'bugs/BUGS-008'], 'BUG-001'],
  ])('beside %j', async (folders, id) => {
    const result = await createWorkItem(backlogWith(...folders), item('It breaks'));
    expect(result).toEqual({
      created: true,
      id,
      title: 'It breaks',
      folder: `bugs/${id}-it-breaks`,
      duplicates: [],
      commit: null,
    });
  });
});

it('a component is one line', async () => {
  const bad = createWorkItem(backlogWith(), item('It breaks', { component: 'x\n**Status**: completed' }));
  await expect(bad).rejects.toThrow('component` must be one line');
});

describe('the folder of a new item is named after its title', () => {
  const names: [title: string, name: string][] = [
    ['It breaks', 'BUG-001-it-breaks'],
    ['Größe: «ÀB» 2', 'BUG-001-gro-e-ab-2'],
    ['中文', 'BUG-001'],
    ['a'.repeat(41), `BUG-001-${'a'.repeat(40)}`],
    [`${'a'.repeat(20)} ${'b'.repeat(19)} c`, `BUG-001-${'a'.repeat(20)}-${'b'.repeat(19)}`],
    [`${'a'.repeat(20)} ${'b'.repeat(20)} c`, `BUG-001-${'a'.repeat(20)}`],
  ];
  it.each(names)('%s', async (title, name) => {
    const backlog = temporaryFolder();
    const { folder } = await createWorkItem(backlog, item(title));
    expect(folder).toBe(`bugs/${name}`);
    expect(readdirSync(join(backlog, `bugs/${name}`)).toSorted()).toEqual([
      'PLAN.md',
      'PROMPT.md',
      'TASKS.md',
      'bug_report.json',
      'comments.md',
    ]);
  });
});

describe('similar items are found before a new one is written', () => {
  it('lists the most similar first and still creates the item', async () => {
    const backlog = await backlogOf('The page does not open', 'The page does not open now');
    const { created, duplicates } = await createWorkItem(backlog, item('The page does not open now'));
    expect(created).toBe(true);
    expect(duplicates.map(({ id, isOpen }) => [id, isOpen])).toEqual([
      ['BUG-002', true],
      ['BUG-001', true],
    ]);
    expect(duplicates[0]?.similarity).toBe(1);
  });

  it('nothing is written if its creator refuses duplicates', async () => {
    const backlog = await backlogOf('The page does not open');
    const refused = await createWorkItem(backlog, item('The page does not open', { on_duplicate: 'refuse' }));
    expect(refused).toMatchObject({ created: false, id: null, title: 'The page does not open', folder: null });
    expect(refused).toMatchObject({ commit: null, duplicates: [{ id: 'BUG-001' }] });
    expect(readdirSync(join(backlog, 'bugs')).toSorted()).toEqual(['BUG-001-the-page-does-not-open', 'bugs.md']);
  });

  it('one that is as similar as the threshold is a duplicate', async () => {
    const backlog = await backlogOf('The page does not open');
    writeFileSync(join(backlog, '.agent-config.json'), '{ "duplicate_threshold": 1 }');
    const { duplicates } = await createWorkItem(backlog, item('The page does not open'));
    expect(duplicates.map(({ id }) => id)).toEqual(['BUG-001']);
  });

  it('ignores similar items of another kind', async () => {
    const backlog = await backlogOf('The page does not open');
    const feature = { item_type: 'feature', on_duplicate: 'refuse' } as Partial<WorkItemInput>;
    const { created, duplicates } = await createWorkItem(backlog, item('The page does not open', feature));
    expect([created, duplicates]).toEqual([true, []]);
  });

  it.each([
    ['deprecated/BUG-004-it-breaks-at-noon', false],
    ['completed/BUG-004-it-breaks-at-noon', false],
    ['bugs/BUG-004-it-breaks-at-noon', true],
  ])('an item without a readable report is compared by the name of its folder: %s', async (folder, isOpen) => {
    const backlog = backlogWith(folder, 'completed/BUG-005', 'completed/FEAT-006-it-breaks-at-noon', 'completed/notes');
    if (isOpen) writeFileSync(join(backlog, folder, 'bug_report.json'), '{');
    const { duplicates } = await createWorkItem(backlog, item('It breaks at noon'));
    expect(duplicates).toEqual([{ id: 'BUG-004', title: 'it breaks at noon', folder, isOpen, similarity: 1 }]);
  });
});

describe('an item that cannot be written', () => {
  it('is an error that names the item and the reason, and nothing is left behind', async () => {
    const backlog = backlogWith('bugs/bugs.md');
    await expect(createWorkItem(backlog, item('It breaks'))).rejects.toMatchObject({
      code: 'backlog_failed',
      message: expect.stringMatching(/^It breaks could not be written: .*bugs\.md/),
      cause: expect.any(Error),
    });
    expect(readdirSync(join(backlog, 'bugs'))).toEqual(['bugs.md']);
  });

  it.each([
    [{ title: '' }, 'title'],
    [{ branch_name: 'b' }, 'branch_name requires auto_commit: true; got branch_name b.'],
  ])('%j is refused before anything is written', async (wrong, message) => {
    const backlog = temporaryFolder();
    await expect(createWorkItem(backlog, { ...item('It breaks'), ...wrong } as WorkItemInput)).rejects.toMatchObject({
      code: 'invalid_work_item',
      message: expect.stringContaining(message),
    });
    expect(readdirSync(backlog)).toEqual([]);
  });

  it('rejects input that is not an object', async () => {
    const none = createWorkItem(temporaryFolder(), 'bug' as unknown as WorkItemInput);
    await expect(none).rejects.toThrow('`item` must be');
  });
});

describe('a copy of a backlog in the work tree of a run', () => {
  it.each([
    ['agent_runs/worktrees/BUG-001/inner', true],
    ['agent_runs/worktrees/BUG-001', true],
    ['agent_runs/worktrees', false],
    ['agent_runs/elsewhere/BUG-001', false],
  ])('a new item of %s is written to the main backlog: %s', async (path, isCopy) => {
    const backlog = backlogWith(path);
    await createWorkItem(join(backlog, path), item('It breaks'));
    expect(existsSync(join(backlog, 'bugs'))).toBe(isCopy);
    expect(existsSync(join(backlog, path, 'bugs'))).toBe(!isCopy);
  });
});

describe('changing an item', () => {
  it('its report keeps the other fields, and its date is updated', async () => {
    const backlog = await backlogOf('It breaks');
    const [open] = readBacklog(backlog).items;
    if (open === undefined) throw new Error('no item');
    changeReport(backlog, open, { priority: 'P0', owner: 'Ada' });
    const text = readFileSync(join(backlog, open.folder, 'bug_report.json'), 'utf8');
    const { updated_date: updated, ...report } = JSON.parse(text);
    expect(report).toMatchObject({ bug_id: 'BUG-001', title: 'It breaks', priority: 'P0', owner: 'Ada' });
    expect(updated).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:/);
    expect(text).toMatch(/^\{\n {2}"bug_id"[\s\S]*\}\n$/);
  });

  it('a comment comes after those that are there', async () => {
    const backlog = await backlogOf('It breaks');
    addComment(backlog, 'bugs/BUG-001-it-breaks', '\n## One\n\n');
    addComment(backlog, 'bugs/BUG-001-it-breaks', '## Two');
    const comments = readFileSync(join(backlog, 'bugs/BUG-001-it-breaks/comments.md'), 'utf8');
    expect(comments).toBe('# Comments on BUG-001\n\n## One\n\n## Two\n');
  });
});

describe('a backlog is locked', () => {
  it('a second run is rejected with the name of the holder until the first releases the lock', async () => {
    const backlog = temporaryFolder();
    const lock = await lockRun(backlog);
    await expect(lockRun(backlog)).rejects.toMatchObject({
      code: 'backlog_locked',
      message: expect.stringMatching(
        `^Another run is using the backlog ${backlog} \\(process ${process.pid}, since \\d{4}-.*Z\\)\\.$`,
      ),
    });
    lock.release();
    (await lockRun(backlog)).release();
  });

  it('git ignores the files of the locks', async () => {
    const backlog = temporaryFolder();
    (await lockRun(backlog)).release();
    expect(readFileSync(join(backlog, 'agent_runs/.locks/.gitignore'), 'utf8')).toBe('*\n');
  });

  it('writers come one after another, and a run does not stop them', async () => {
    const backlog = temporaryFolder();
    const run = await lockRun(backlog);
    const steps: string[] = [];
    const write = (name: string) => async () => {
      steps.push(`${name} begins`);
      await new Promise<void>((resolve) => setImmediate(resolve));
      steps.push(`${name} ends`);
      return name;
    };
    const both = await Promise.all([whileLocked(backlog, write('one')), whileLocked(backlog, write('two'))]);
    run.release();
    expect(both).toEqual(['one', 'two']);
    expect(steps).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
  });

  it('a writer that fails lets the next one in', async () => {
    const backlog = temporaryFolder();
    await expect(whileLocked(backlog, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await whileLocked(backlog, async () => 1)).toBe(1);
  });

  it('a lock that cannot be made is an error that names the backlog', async () => {
    const backlog = temporaryFolder();
    writeFileSync(join(backlog, 'agent_runs'), '');
    await expect(lockRun(backlog)).rejects.toMatchObject({
      code: 'backlog_failed',
      message: expect.stringMatching(`^Cannot lock the backlog ${backlog}: .*ENOTDIR.*\\.$`),
      cause: { code: 'ENOTDIR' },
    });
  });
});
