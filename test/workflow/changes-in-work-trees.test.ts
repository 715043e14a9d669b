import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createWorkItem, type WorkFunction } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';
import { projectWith } from '../support/project.ts';

const git = (folder: string, ...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim();

/** Runs one function over a project with two items at once, and the first of its items alone does something odd. */
async function runWith(project: TestBacklog, odd: (root: string, folder: string) => unknown) {
  const process: WorkFunction = async ({ item, root, folder }) => {
    writeFileSync(join(root, `${item.id}.txt`), item.id);
    if (item.id === 'BUG-001') await odd(root, folder);
    return { status: 'succeeded', message: 'All done.' };
  };
  const { result } = await runOver(project, { process }, { limits: { concurrency: 2 } });
  return result;
}

describe('W-1: whatever an agent does in its work tree, no work is lost', () => {
  it('it deletes the .git file', async () => {
    const project = projectWith(2);
    const result = await runWith(project, (root) => rmSync(join(root, '.git')));
    expect(result).toMatchObject({ succeeded: ['BUG-001', 'BUG-002'], problems: [] });
    expect(project.git('show', 'HEAD:BUG-001.txt')).toBe('BUG-001');
  });

  it.each([
    ['deletes', (folder: string) => rmSync(folder, { recursive: true })],
    ['renames', (folder: string) => renameSync(folder, `${folder}-renamed`)],
  ])('it %s the folder of its item: the item fails, and its work is kept', async (_, change) => {
    const project = projectWith(2);
    const result = await runWith(project, (_root, folder) => change(folder));
    expect(result).toMatchObject({
      ...{ succeeded: ['BUG-002'], status: 'completed' },
      failures: [{ id: 'BUG-001', message: expect.stringMatching(/^Not merged: bugs\/BUG-001\S* is gone from its/) }],
    });
    expect(project.list('completed')).toEqual([expect.stringContaining('BUG-002')]);
    expect(project.git('show', `pawl/${result.run}/BUG-001:BUG-001.txt`)).toBe('BUG-001');
  });

  it('it commits, on a branch of its own', async () => {
    const project = projectWith(2);
    const result = await runWith(project, (root) => {
      git(root, 'checkout', '--quiet', '-b', 'mine');
      git(root, 'add', '--all');
      git(root, 'commit', '--quiet', '--message=Mine');
    });
    expect(result).toMatchObject({ succeeded: ['BUG-001', 'BUG-002'], problems: [] });
    expect(project.git('show', 'HEAD:BUG-001.txt')).toBe('BUG-001');
    expect(project.git('branch', '--show-current')).toBe('main');
  });

  it('it makes a nested repository, which git cannot merge: the item fails, and the folder is kept', async () => {
    const project = projectWith(2);
    const result = await runWith(project, (root) => {
      mkdirSync(join(root, 'app'));
      git(join(root, 'app'), 'init', '--quiet');
      writeFileSync(join(root, 'app/f'), 'f');
      git(join(root, 'app'), 'add', '--all');
      git(join(root, 'app'), '-c', 'user.name=n', '-c', 'user.email=n@n', 'commit', '--quiet', '--message=App');
    });
    expect(result).toMatchObject({ succeeded: ['BUG-002'], status: 'completed' });
    expect(result.failures).toMatchObject([
      { id: 'BUG-001', phase: 'archiving', message: 'Not merged: git cannot merge the nested repositories app.' },
    ]);
    const [kept = ''] = project.list('agent_runs/kept-worktrees').filter((name) => name.startsWith('BUG-001'));
    expect(project.read(`agent_runs/kept-worktrees/${kept}/app/f`)).toBe('f');
    expect(result.warnings).toEqual(expect.arrayContaining([expect.stringContaining(`kept-worktrees/${kept}`)]));
    expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
  });

  it('it adds a file that a person keeps there, and git ignores: a conflict', async () => {
    const project = projectWith(2);
    appendFileSync(join(project.folder, '.gitignore'), '.env\n');
    project.git('commit', '--quiet', '--all', '--message=Ignore');
    project.write('.env', 'of a person');
    const result = await runWith(project, (root) => {
      writeFileSync(join(root, '.gitignore'), 'agent_runs\n.agent-state.json*\n');
      writeFileSync(join(root, '.env'), 'of an agent');
    });
    expect(result.failures).toMatchObject([
      { id: 'BUG-001', message: expect.stringContaining('Merge conflict in .env;') },
    ]);
    expect(project.read('.env')).toBe('of a person');
    expect(project.git('show', `pawl/${result.run}/BUG-001:.env`)).toBe('of an agent');
  });

  it('it archives its own item', async () => {
    const project = projectWith(2);
    const result = await runWith(project, (root) => {
      mkdirSync(join(root, 'completed'));
      renameSync(join(root, 'bugs/BUG-001-bug-1'), join(root, 'completed/BUG-001-bug-1'));
    });
    expect(result).toMatchObject({ succeeded: ['BUG-001', 'BUG-002'], problems: [], failures: [] });
    expect(project.list('completed')).toEqual(['BUG-001-bug-1', 'BUG-002-bug-2']);
    expect(project.read('completed/BUG-001-bug-1/comments.md')).toContain('All done.');
  });

  it('it creates items: each has its own number, in the backlog itself', async () => {
    const project = projectWith(2);
    const process: WorkFunction = async ({ item, root }) => {
      const input = {
        item_type: 'bug' as const,
        title: `Found at ${item.id}`,
        component: 'core',
        priority: 'P2' as const,
        description: 'So it is.',
      };
      await createWorkItem(root, { ...input, evidence: [], metadata: {} } as never);
      return { status: 'succeeded' };
    };
    const { result } = await runOver(project, { process }, { limits: { concurrency: 2 } });
    expect(result.succeeded).toEqual(['BUG-001', 'BUG-002']);
    expect(result.created.map(({ id }) => id)).toEqual(['BUG-003', 'BUG-004']);
    expect(project.read('bugs/bugs.md')).toContain('BUG-004');
  });

  it('links, odd names and modes are merged and committed', async () => {
    const project = projectWith(2);
    const names = [' lead', ':c', 'a b*', 'ü\n', '-x'];
    const result = await runWith(project, (root) => {
      for (const name of names) writeFileSync(join(root, name), name);
      symlinkSync('nowhere', join(root, 'link'));
    });
    expect(result).toMatchObject({ succeeded: ['BUG-001', 'BUG-002'], problems: [] });
    for (const name of names) expect(readFileSync(join(project.folder, name), 'utf8')).toBe(name);
    expect(project.git('status', '--short')).toBe('');
    const files = execFileSync('git', ['ls-files', '-z'], { cwd: project.folder, encoding: 'utf8' }).split('\0');
    expect(files).toEqual(expect.arrayContaining([...names, 'link']));
  });

  it('without concurrency too, links and odd names are committed', async () => {
    const project = projectWith(1);
    const process: WorkFunction = ({ root }) => {
      writeFileSync(join(root, ':c'), 'c');
      symlinkSync('nowhere', join(root, 'link'));
      return { status: 'succeeded' };
    };
    const { result } = await runOver(project, { process });
    expect(result).toMatchObject({ succeeded: ['BUG-001'], problems: [], incidents: [] });
    expect(project.git('status', '--short')).toBe('');
  });

  it("a person's other work trees stay, also those that are not there now", async () => {
    const project = projectWith(2);
    project.git('worktree', 'add', '--quiet', '--detach', join(project.folder, '.git/elsewhere'));
    renameSync(join(project.folder, '.git/elsewhere'), join(project.folder, '.git/unmounted'));
    await runWith(project, () => {});
    renameSync(join(project.folder, '.git/unmounted'), join(project.folder, '.git/elsewhere'));
    expect(git(join(project.folder, '.git/elsewhere'), 'log', '--format=%s')).toContain('As found');
  });

  it('two backlogs of a repository have runs at the same time', async () => {
    const repository = new TestBacklog();
    const item = (service: string, number: number) =>
      repository.write(`${service}/bugs/BUG-00${number}-x/PROMPT.md`, `# BUG-00${number}: X\n\n**Status**: new\n`);
    for (const service of ['a', 'b']) for (const number of [1, 2]) item(service, number);
    repository.git('add', '--all');
    repository.git('commit', '--quiet', '--message=As found');
    const over = (service: string) => {
      const own = Object.assign(Object.create(TestBacklog.prototype), { folder: join(repository.folder, service) });
      const process: WorkFunction = ({ item: { id }, root }) => {
        writeFileSync(join(root, `${service}-${id}.txt`), 'work');
        return { status: 'succeeded' };
      };
      return runOver(own, { process }, { limits: { concurrency: 2 } });
    };
    const runs = await Promise.all([over('a'), over('b')]);
    expect(runs.map(({ result }) => result.succeeded)).toEqual([
      ['BUG-001', 'BUG-002'],
      ['BUG-001', 'BUG-002'],
    ]);
    for (const name of ['a-BUG-001', 'a-BUG-002', 'b-BUG-001', 'b-BUG-002'])
      expect(existsSync(join(repository.folder, `${name}.txt`)), name).toBe(true);
  });

  it('the project is moved between a crash and the next run', async () => {
    const project = projectWith(5);
    spawnSync(process.execPath, ['test/support/dying-together.ts', project.folder], { stdio: 'inherit' });
    const moved = Object.assign(Object.create(TestBacklog.prototype), { folder: `${project.folder}-moved` });
    renameSync(project.folder, moved.folder);
    onTestFinished(() => rmSync(moved.folder, { recursive: true }));
    const { result } = await runOver(moved, { process: () => ({ status: 'succeeded' }) });
    expect(result.succeeded).toEqual(['BUG-002', 'BUG-004', 'BUG-005']);
    expect(moved.git('show', 'HEAD~2:BUG-002.txt')).toBe('BUG-002');
    for (const id of ['BUG-001', 'BUG-003']) expect(moved.git('show', `pawl/${result.run}/${id}:${id}.txt`)).toBe(id);
    expect(moved.git('worktree', 'list').split('\n')).toHaveLength(1);
  });
});
