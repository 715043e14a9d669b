import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { git } from '../../src/workflow/git/git.ts';
import { addTree, type ItemTree, presentState, workIn } from '../../src/workflow/git/item-tree.ts';
import { TestBacklog } from '../support/backlog.ts';
import { temporaryFolder } from '../support/temporary.ts';

const failure = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: Error) => error.message,
  );

describe('W-1: work in the submodule of an item', () => {
  const inside = ['-c', 'protocol.file.allow=always', 'submodule'];
  let project: TestBacklog;
  let tree: ItemTree;
  beforeEach(async () => {
    project = new TestBacklog();
    project.write('lines.txt', 'one\ntwo\nthree\nfour\nfive\n');
    project.write('backlog/bugs/BUG-001-x/comments.md', 'First.\n');
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=As found');
    tree = {
      project: project.folder,
      root: join(project.folder, 'backlog/agent_runs/run/BUG-001'),
      backlog: 'backlog',
    };
    const source = temporaryFolder();
    await git(source, ['init', '--quiet']);
    writeFileSync(join(source, 'lib.txt'), 'lib');
    await git(source, ['add', '--all']);
    await git(source, ['-c', 'user.name=n', '-c', 'user.email=n@n', 'commit', '--quiet', '--message=A']);
    project.git(...inside, '--quiet', 'add', source, 'sub');
    project.git('commit', '--quiet', '--message=sub');
    await checkedOut();
  });
  const own = (path: string, text: string) => {
    mkdirSync(join(tree.root, path, '..'), { recursive: true });
    writeFileSync(join(tree.root, path), text);
  };
  const checkedOut = async () => addTree(tree, await presentState(project.folder));
  const work = () => workIn(tree, [], 'Work on BUG-001');
  const refused = 'git cannot merge the nested repositories sub';

  it('that was left empty, or only checked out, is none', async () => {
    expect((await work()).changed).toEqual([]);
    await git(tree.root, [...inside, '--quiet', 'update', '--init', 'sub']);
    expect((await work()).changed).toEqual([]);
  });

  it('is refused: a changed or new file', async () => {
    await git(tree.root, [...inside, '--quiet', 'update', '--init', 'sub']);
    own('sub/new.txt', 'new');
    expect(await failure(work())).toBe(refused);
    rmSync(join(tree.root, 'sub/new.txt'));
    own('sub/lib.txt', 'fixed');
    expect(await failure(work())).toBe(refused);
  });

  it('may be replaced by a file', async () => {
    rmSync(join(tree.root, 'sub'), { recursive: true });
    own('sub', 'a file');
    expect((await work()).changed).toEqual(['sub']);
  });

  it('is refused: files where none was checked out, or in a repository of its own', async () => {
    own('sub/new.txt', 'new');
    expect(await failure(work())).toBe(refused);
    await git(join(tree.root, 'sub'), ['init', '--quiet']);
    rmSync(join(tree.root, 'sub/new.txt'));
    expect(await failure(work())).toBe(refused);
  });
});
