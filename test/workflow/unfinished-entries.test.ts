import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { runOver, type TestBacklog } from '../support/backlog.ts';
import { gitThat } from '../support/fake-git.ts';
import { editLine, projectWith, together } from '../support/project.ts';

/** What git has written of a work tree when another command reads it at the worst moment. */
function unfinishedEntry(project: TestBacklog): string {
  const entry = join(project.folder, '.git/worktrees/other');
  mkdirSync(entry, { recursive: true });
  writeFileSync(join(entry, 'gitdir'), '/nowhere/.git\n');
  writeFileSync(join(entry, 'HEAD'), `${project.git('rev-parse', 'HEAD')}\n`);
  writeFileSync(join(entry, 'commondir'), '');
  return entry;
}

describe('W-1: an entry of a work tree that another command is writing', () => {
  const items = () => {
    const both = together(2);
    const process: WorkFunction = async ({ root, item }) => {
      await both();
      editLine(root, item.id === 'BUG-001' ? 10 : 40, `by ${item.id}`);
      return { status: 'succeeded' };
    };
    return process;
  };

  it('is read again until it is complete', async () => {
    const project = projectWith(2);
    const entry = unfinishedEntry(project);
    const met = join(project.folder, '.git/met');
    gitThat(`"$GIT" "$@"
code=$?
case " $* " in *" worktree "*) [ $code = 128 ] && echo x >> ${met} && [ $(wc -l < ${met}) -ge 4 ] && rm -rf ${entry};; esac
exit $code`);
    const { result } = await runOver(project, { process: items() }, { limits: { concurrency: 2 } });
    expect(existsSync(met)).toBe(true);
    expect(result).toMatchObject({
      status: 'completed',
      succeeded: ['BUG-001', 'BUG-002'],
      failures: [],
      problems: [],
    });
    expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
    const lines = project.read('lines.txt').split('\n');
    expect([lines[10], lines[40]]).toEqual(['by BUG-001', 'by BUG-002']);
  });

  it("ends the run with git's message if nobody completes it", async () => {
    const project = projectWith(2);
    unfinishedEntry(project);
    const { result, report } = await runOver(project, { process: items() }, { limits: { concurrency: 2 } });
    expect(result).toMatchObject({ status: 'exitedEarly', iterations: 2, succeeded: [] });
    expect(report).toContain('failed to read .git/worktrees/other/commondir');
  });
});
