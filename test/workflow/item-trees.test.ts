import { existsSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { commitPaths } from '../../src/workflow/git/commits.ts';
import { git } from '../../src/workflow/git/git.ts';
import {
  addTree,
  hasTree,
  keepOnBranch,
  mergeWork,
  moveTree,
  neededFor,
  presentState,
  removeTree,
  treesIn,
  workIn,
} from '../../src/workflow/git/item-tree.ts';
import { failure, itemTree } from '../support/item-tree.ts';

describe('W-1: the work tree of an item', () => {
  let { project, tree, own, checkedOut, work } = {} as ReturnType<typeof itemTree>;
  beforeEach(() => {
    ({ project, tree, own, checkedOut, work } = itemTree());
  });
  const merged = async () => mergeWork(project.folder, await work(), tree.backlog);

  it('is a checkout of the last commit, or of what is not committed on top of it', async () => {
    expect(await presentState(project.folder)).toBe(project.git('rev-parse', 'HEAD'));
    project.write('draft.txt', 'draft');
    const present = await presentState(project.folder);
    expect(project.git('log', '--format=%s|%an|%ae', present).split('\n')).toEqual([
      'The work tree as it was|Pawl|pawl@localhost',
      'As found|Author|author@example.com',
      'Begin|Author|author@example.com',
    ]);
    await addTree(tree, present);
    expect(readFileSync(join(tree.root, 'draft.txt'), 'utf8')).toBe('draft');
    expect(project.git('status', '--short')).toBe('?? draft.txt');
  });

  it('can be had in a repository without a commit', async () => {
    project.git('update-ref', '-d', 'HEAD');
    expect(project.git('log', '--format=%s', await presentState(project.folder))).toBe('The work tree as it was');
  });

  it('counts as complete once the checkout is done, until it is removed', async () => {
    expect([hasTree(tree), treesIn(join(tree.root, '..'))]).toEqual([false, []]);
    await checkedOut();
    expect([hasTree(tree), treesIn(join(tree.root, '..'))]).toEqual([true, ['BUG-001']]);
    rmSync(`${tree.root}.base`);
    expect(hasTree(tree)).toBe(false);
    writeFileSync(`${tree.root}.base`, 'x');
    await removeTree(tree);
    expect([hasTree(tree), existsSync(tree.root), treesIn(join(tree.root, '..'))]).toEqual([false, false, []]);
    expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
    await removeTree(tree);
  });

  it('is removed even if it is incomplete, or gone', async () => {
    await checkedOut();
    rmSync(join(tree.root, '.git'));
    await removeTree(tree);
    expect(existsSync(tree.root)).toBe(false);
    await checkedOut();
    rmSync(tree.root, { recursive: true });
    await removeTree(tree);
    expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
    await checkedOut();
    expect(hasTree(tree)).toBe(true);
  });

  it('can be moved out of the way, with what is in it', async () => {
    await checkedOut();
    own('found.txt', 'kept');
    const place = join(project.folder, 'backlog/agent_runs/run/kept/BUG-001');
    await moveTree(tree, place);
    expect([hasTree(tree), readFileSync(join(place, 'found.txt'), 'utf8')]).toEqual([false, 'kept']);
    expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(project.git('status', '--short')).toBe('');
  });

  it('holds the work on an item: what changed, as a commit on top of its base', async () => {
    await checkedOut();
    own('lines.txt', 'one\n');
    own('new/ä.txt', 'new');
    own('backlog/state.json', '{}');
    rmSync(join(tree.root, 'backlog/bugs'), { recursive: true });
    const { base, commit, changed } = await workIn(tree, ['backlog/state.json'], 'Work on BUG-001');
    expect(base).toBe(project.git('rev-parse', 'HEAD'));
    expect(project.git('log', '-1', '--format=%s|%an|%P', commit)).toBe(`Work on BUG-001|Pawl|${base}`);
    expect(changed).toEqual(['backlog/bugs/BUG-001-x/comments.md', 'lines.txt', 'new/ä.txt']);
  });

  it('without its backlog, it still holds the work', async () => {
    await checkedOut();
    rmSync(join(tree.root, 'backlog'), { recursive: true });
    own('new.txt', 'new');
    expect((await work()).changed).toEqual(['backlog/bugs/BUG-001-x/comments.md', 'new.txt']);
  });

  it('is refused if it contains a nested repository, and the error names it', async () => {
    await checkedOut();
    await git(tree.root, ['init', '--quiet', 'app']);
    own('app/a.txt', 'a');
    await git(join(tree.root, 'app'), ['add', '--all']);
    await git(join(tree.root, 'app'), [
      '-c',
      'user.name=n',
      '-c',
      'user.email=n@n',
      'commit',
      '--quiet',
      '--message=A',
    ]);
    expect(await failure(work())).toBe('git cannot merge the nested repositories app');
  });

  it('is repaired if its .git file is gone, or the project was moved; otherwise it is no work tree', async () => {
    await checkedOut();
    own('new.txt', 'new');
    rmSync(join(tree.root, '.git'));
    expect((await work()).changed).toEqual(['new.txt']);
    const moved = `${project.folder}-moved`;
    renameSync(project.folder, moved);
    const there = { ...tree, project: moved, root: tree.root.replace(project.folder, moved) };
    expect((await workIn(there, [], 'x')).changed).toEqual(['new.txt']);
    renameSync(moved, project.folder);
    rmSync(join(tree.root, '.git'));
    rmSync(join(project.folder, '.git/worktrees'), { recursive: true });
    expect(await failure(work())).toBe(`${tree.root} is no longer a git work tree`);
  });

  it('its work is kept on a branch, once, and beside the work of another', async () => {
    await checkedOut();
    own('new.txt', '1');
    const keep = async () => keepOnBranch(project.folder, await work(), 'pawl/run/BUG-001');
    expect(await keep()).toEqual({ branch: 'pawl/run/BUG-001', isNew: true });
    expect(await keep()).toEqual({ branch: 'pawl/run/BUG-001', isNew: false });
    own('new.txt', '2');
    expect(await keep()).toEqual({ branch: 'pawl/run/BUG-001-2', isNew: true });
    own('new.txt', '3');
    expect(await keep()).toEqual({ branch: 'pawl/run/BUG-001-3', isNew: true });
    own('new.txt', '2');
    expect(await keep()).toEqual({ branch: 'pawl/run/BUG-001-2', isNew: false });
    expect(project.git('show', 'pawl/run/BUG-001-2:new.txt')).toBe('2');
  });

  it.each(['pawl', 'pawl/run'])(
    'its work is kept beside a branch named %s, which leaves no folder for it',
    async (name) => {
      project.git('branch', name);
      await checkedOut();
      own('lines.txt', 'mine\n');
      const kept = await keepOnBranch(project.folder, await work(), 'pawl/run/BUG-001');
      expect(kept).toEqual({ branch: 'pawl-run-BUG-001', isNew: true });
      expect(project.git('show', 'pawl-run-BUG-001:lines.txt')).toBe('mine');
      expect(await keepOnBranch(project.folder, await work(), 'pawl/run/BUG-001')).toMatchObject({ isNew: false });
    },
  );

  it('is refused if a sparse checkout leaves out what was changed', async () => {
    project.write('docs/a.md', 'old\n');
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=docs');
    project.git('sparse-checkout', 'set', 'backlog');
    await checkedOut();
    expect((await work()).changed).toEqual([]);
    own('lines.txt', 'changed\n');
    expect((await work()).changed).toEqual(['lines.txt']);
    own('docs/a.md', 'new\n');
    expect(await failure(work())).toBe('git leaves docs/a.md out of its sparse checkout');
  });

  it('holds a change of a file that the user marked as unchanged', async () => {
    project.git('config', 'core.ignoreStat', 'true');
    await checkedOut();
    own('lines.txt', 'changed\n');
    expect((await work()).changed).toEqual(['lines.txt']);
  });

  it('a file that git takes no changes of is in conflict', async () => {
    project.git('update-index', '--skip-worktree', 'lines.txt');
    await checkedOut();
    own('lines.txt', 'changed\n');
    own('new.txt', 'new\n');
    expect(await mergeWork(project.folder, await work(), 'backlog')).toEqual(['lines.txt']);
    expect(project.read('lines.txt')).toBe('one\ntwo\nthree\nfour\nfive\n');
    expect(project.has('new.txt')).toBe(false);
  });

  it('its work is merged with what changed meanwhile, and stays uncommitted', async () => {
    await checkedOut();
    own('lines.txt', 'ONE\ntwo\nthree\nfour\nfive\n');
    own('new.txt', 'new');
    project.write('lines.txt', 'one\ntwo\nthree\nfour\nFIVE\n');
    expect(await merged()).toEqual([]);
    expect([project.read('lines.txt'), project.read('new.txt')]).toEqual(['ONE\ntwo\nthree\nfour\nFIVE\n', 'new']);
    expect(project.git('log', '--format=%s').split('\n')).toEqual(['As found', 'Begin']);
    expect(project.git('status', '--short').split('\n')).toEqual(['M lines.txt', '?? new.txt']);
  });

  it('files in conflict are named, and nothing is written', async () => {
    await checkedOut();
    own('lines.txt', 'ONE\n');
    own('new.txt', 'of an agent');
    own('other.txt', 'new');
    project.write('lines.txt', 'mine\n');
    project.write('new.txt', 'of a person');
    expect(await merged()).toEqual(['lines.txt', 'new.txt']);
    expect([project.read('lines.txt'), project.read('new.txt'), project.has('other.txt')]).toEqual([
      'mine\n',
      'of a person',
      false,
    ]);
  });

  it('a file that git ignores is not replaced', async () => {
    await checkedOut();
    own('secret.env', 'of an agent');
    own('other.txt', 'new');
    const done = await work();
    project.write('.git/info/exclude', '*.env\n');
    project.write('secret.env', 'of a person');
    expect(await mergeWork(project.folder, done, tree.backlog)).toEqual(['secret.env']);
    expect([project.read('secret.env'), project.has('other.txt')]).toEqual(['of a person', false]);
    rmSync(join(project.folder, 'secret.env'));
    symlinkSync('/nowhere', join(project.folder, 'secret.env'));
    expect(await mergeWork(project.folder, done, tree.backlog)).toEqual(['secret.env']);
  });

  it.each(['backlog', 'back[l]og', ''])('comments of items are joined, below the backlog %j alone', async (backlog) => {
    project.write(`${backlog}/deep/comments.md`, 'Begin.\n');
    project.write('outside/comments.md', 'Begin.\n');
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=Comments');
    tree = { ...tree, backlog };
    await checkedOut();
    for (const place of [`${backlog}/deep`, ...(backlog === '' ? ['outside'] : [])]) {
      own(`${place}/comments.md`, 'Begin.\nOf an agent.\n');
      project.write(`${place}/comments.md`, 'Begin.\nOf a person.\n');
    }
    expect(await merged()).toEqual([]);
    expect(project.read(`${backlog}/deep/comments.md`)).toBe('Begin.\nOf a person.\nOf an agent.\n');
    if (backlog === '') return;
    own('outside/comments.md', 'Begin.\nOf an agent.\n');
    project.write('outside/comments.md', 'Begin.\nOf a person.\n');
    expect(await merged()).toContain('outside/comments.md');
  });

  it("the user's own attributes hold for a merge", async () => {
    project.write('own-attributes', '*.list merge=union\n');
    project.write('names.list', 'a\n');
    project.git('config', 'core.attributesFile', join(project.folder, 'own-attributes'));
    await commitPaths(project.folder, ['names.list', 'own-attributes'], 'List');
    await checkedOut();
    own('names.list', 'a\nagent\n');
    project.write('names.list', 'a\nperson\n');
    expect(await merged()).toEqual([]);
    expect(project.read('names.list')).toBe('a\nperson\nagent\n');
  });

  it('nothing of a merge is left in the repository', async () => {
    await checkedOut();
    own('new.txt', 'new');
    await merged();
    expect(project.list('.git').filter((name) => name.startsWith('pawl-'))).toEqual([]);
  });

  it.each([
    ['git version 2.38.0', null],
    ['git version 2.47.3 (Apple Git-1)', null],
    ['git version 3.0.1', null],
    ['git version 2.37.9', 'git 2.38 or newer; found git version 2.37.9'],
    ['git version 1.99', 'git 2.38 or newer; found git version 1.99'],
    ['nonsense', 'git 2.38 or newer; found nonsense'],
  ])('merging needs git 2.38: %s', (version, needed) => {
    expect(neededFor(version)).toBe(needed);
  });
});
