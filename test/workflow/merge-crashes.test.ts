import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, it } from 'vitest';
import { runOver, type TestBacklog } from '../support/backlog.ts';
import { projectWith } from '../support/project.ts';

const realGit = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();

/** Counts the calls of git, and kills its parent before or after one of them. */
const fakeGit = `#!/bin/sh
count="$PAWL_GIT_CALLS"
echo "$1" >> "$count"
number=$(wc -l < "$count")
if [ "$number" -eq "$PAWL_DIE_AT" ]; then
  [ "$PAWL_DIE" = before ] && kill -9 $PPID && exit 1
  ${realGit} "$@"
  kill -9 $PPID
  exit 0
fi
exec ${realGit} "$@"
`;

function dieAt(project: TestBacklog, call: number, when: 'before' | 'after'): { died: boolean; calls: number } {
  project.write('.git/own/git', fakeGit);
  chmodSync(join(project.folder, '.git/own/git'), 0o755);
  const calls = join(project.folder, '.git/own/calls');
  const { signal } = spawnSync(process.execPath, ['--no-warnings', 'test/support/dying-merges.ts', project.folder], {
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: `${join(project.folder, '.git/own')}${delimiter}${process.env.PATH}`,
      PAWL_GIT_CALLS: calls,
      PAWL_DIE_AT: String(call),
      PAWL_DIE: when,
    },
  });
  return {
    died: signal === 'SIGKILL',
    calls: existsSync(calls) ? readFileSync(calls, 'utf8').split('\n').length - 1 : 0,
  };
}

const all = process.env.PAWL_WALKS === 'all';

it('W-1 W-4: a run of several items that dies at a call of git loses no work and leaves nothing behind', {
  timeout: 600_000,
}, async () => {
  const { calls } = dieAt(projectWith(3), 0, 'before');
  expect(calls).toBeGreaterThan(100);
  const every = Array.from({ length: calls }, (_, index) => index + 1);
  // Each of them takes a process; `npm run verify` tries more.
  const tried = every.filter((call) => call % (all ? 3 : 97) === 2);
  for (const call of tried) {
    const project = projectWith(3);
    const when = call % 2 === 0 ? 'before' : 'after';
    const at = `${when} call ${call}`;
    dieAt(project, call, when);
    const worked = new Set<string>();
    const { result } = await runOver(
      project,
      {
        process: ({ item }) => {
          worked.add(item.id);
          return { status: 'succeeded' };
        },
      },
      { limits: { concurrency: 2 } },
    );
    expect(result.problems, at).toEqual([]);
    expect(result.status, at).toBe('completed');
    for (const number of [1, 2, 3]) {
      const id = `BUG-00${number}`;
      const name = `${id}-bug-${number}`;
      expect(
        [project.has(`bugs/${name}`), project.has(`completed/${name}`)].filter(Boolean),
        `${id} ${at}`,
      ).toHaveLength(1);
      const isDone = project.has(`completed/${name}`);
      // Work that was done is in the project, and committed.
      if (isDone && !worked.has(id)) {
        expect(project.git('show', `HEAD:${id}.txt`), `${id} ${at}`).toBe(id);
        expect(project.read('lines.txt').split('\n')[10 * number], `${id} ${at}`).toBe(`by ${id}`);
      }
      if (!isDone) expect(project.json(`bugs/${name}/bug_report.json`).status, `${id} ${at}`).toBe('new');
    }
    expect(project.git('worktree', 'list').split('\n'), at).toHaveLength(1);
    expect(
      project.list('agent_runs/worktrees').filter((name) => name !== '.gitignore'),
      at,
    ).toEqual([]);
    // A comment on work that failed may be written, but not committed; the next commit of its item has it.
    const status = project.git('status', '--short').split('\n');
    expect(
      status.filter((line) => line !== '' && !line.endsWith('/comments.md')),
      at,
    ).toEqual([]);
  }
});
