import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { git } from '../../src/workflow/git/git.ts';
import { runOver } from '../support/backlog.ts';
import { failure, itemTree } from '../support/item-tree.ts';
import { projectWith } from '../support/project.ts';
import { temporaryFolder } from '../support/temporary.ts';

describe('W-1: work in the submodule of an item', () => {
  const inside = ['-c', 'protocol.file.allow=always', 'submodule'];
  let { project, tree, own, checkedOut, work } = {} as ReturnType<typeof itemTree>;
  beforeEach(async () => {
    ({ project, tree, own, checkedOut, work } = itemTree());
    const source = temporaryFolder();
    await git(source, ['init', '--quiet']);
    writeFileSync(join(source, 'lib.txt'), 'lib');
    await git(source, ['add', '--all']);
    await git(source, ['-c', 'user.name=n', '-c', 'user.email=n@n', 'commit', '--quiet', '--message=A']);
    project.git(...inside, '--quiet', 'add', source, 'sub');
    project.git('commit', '--quiet', '--message=sub');
    await checkedOut();
  });
  const refused = 'git cannot merge the nested repositories sub';

  it('does not count if the submodule is empty, or only checked out', async () => {
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

it('W-1: what an agent changes in a submodule of the project is named, since no commit holds it', async () => {
  const source = temporaryFolder();
  await git(source, ['init', '--quiet']);
  writeFileSync(join(source, 'lib.txt'), 'lib');
  await git(source, ['add', '--all']);
  await git(source, ['-c', 'user.name=n', '-c', 'user.email=n@n', 'commit', '--quiet', '--message=A']);
  const project = projectWith(3);
  project.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', source, 'sub');
  project.git('commit', '--quiet', '--message=sub');
  const { result } = await runOver(project, {
    process: ({ item }) => {
      if (item.id !== 'BUG-001') project.write('sub/lib.txt', item.id);
      return { status: 'succeeded' };
    },
  });
  expect(result.succeeded).toEqual(['BUG-001', 'BUG-002', 'BUG-003']);
  const named = result.warnings.filter((warning) => warning.includes('submodules'));
  // Those of BUG-003 cannot be told from those of BUG-002.
  expect(named).toEqual(['Changes in these submodules are not committed: sub']);
});
