import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { changedBetween, snapshot } from '../../src/workflow/git/snapshot.ts';
import { TestBacklog } from '../support/backlog.ts';

it('W-1: a change of the same size within the second of its last commit is seen', async () => {
  const backlog = new TestBacklog();
  // The time of a file's last change of any kind cannot be set.
  backlog.git('config', 'core.trustctime', 'false');
  const at = 1_700_000_000;
  const write = (text: string) => {
    backlog.write('src/a.ts', text);
    utimesSync(join(backlog.folder, 'src/a.ts'), at, at);
  };
  write('1\n');
  backlog.git('add', '--all');
  backlog.git('commit', '--quiet', '--message=All');
  utimesSync(join(backlog.folder, '.git/index'), at, at);
  const before = await snapshot(backlog.folder);
  write('2\n');
  const after = await snapshot(backlog.folder);
  if (before === null || after === null) throw new Error('there is no repository');
  expect(await changedBetween(backlog.folder, before, after)).toEqual(['src/a.ts']);
});
