import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runOver, TestBacklog } from '../support/backlog.ts';
import { outcomeOf } from '../support/scripted-work.ts';

function backlogOfThree(): TestBacklog {
  const backlog = new TestBacklog();
  for (const number of [1, 2, 3]) backlog.bug(number, { title: `The bug ${number}` });
  backlog.write(
    'bugs/bugs.md',
    `# Bugs\n\n| ID | Title | Status |\n|---|---|---|\n${[1, 2, 3].map((one) => `| BUG-00${one} | The bug ${one} | new |\n`).join('')}`,
  );
  backlog.write('.agent-config.json', '{"auto_commit": true}');
  backlog.git('add', '--all');
  backlog.git('commit', '--quiet', '--message=All');
  return backlog;
}

function dieAt(backlog: TestBacklog, write: number): { died: boolean; writes: string[] } {
  const args = ['--no-warnings', 'test/support/dying-writes.ts', backlog.folder, String(write)];
  const { signal, stdout } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { died: signal === 'SIGKILL', writes: stdout === '' ? [] : JSON.parse(stdout) };
}

const all = process.env.PAWL_WALKS === 'all';

it('W-2 W-4: a run that dies at a write is brought to its end by the next', { timeout: 900_000 }, async () => {
  const { writes } = dieAt(backlogOfThree(), 0);
  expect(writes.length).toBeGreaterThan(30);
  const every = writes.map((_, index) => index + 1);
  // Each takes a process, so only the last write of each file that a run reads is tried, and half of these a day;
  // `npm run verify` tries all.
  const day = Math.floor(Date.now() / 86_400_000);
  const isTried = (name: string, index: number) =>
    writes.lastIndexOf(name) === index && /(?:agent-state|bugs\.md|comments\.md|bug_report)/.test(name);
  const read = every.filter((write) => isTried(writes[write - 1] ?? '', write - 1));
  const tried = all ? every : read.filter((_, index) => (index + day) % 2 === 0);
  for (const write of tried) {
    const backlog = backlogOfThree();
    const at = `write ${write}: ${writes[write - 1]}`;
    expect(dieAt(backlog, write).died, at).toBe(true);
    // Two more runs: the first continues the one that died.
    for (const _ of [1, 2])
      await runOver(
        backlog,
        { process: ({ item }) => outcomeOf(item.id), test: () => ({ status: 'succeeded' }) },
        { limits: { maxConsecutiveFailures: 1 } },
      );
    const rows = backlog
      .read('bugs/bugs.md')
      .split('\n')
      .filter((line) => line.startsWith('| BUG-'));
    const places = [...backlog.list('bugs'), ...backlog.list('completed')].filter((name) => name.startsWith('BUG-'));
    const ids = places.map((name) => name.slice(0, 7));
    expect(ids.length, at).toBe(new Set(ids).size);
    // Every item is in one place, and has one row.
    expect(rows.map((row) => row.slice(2, 9)).toSorted(), at).toEqual(ids.toSorted());
    const titles = backlog
      .list('bugs')
      .filter((name) => name.includes('session-failure'))
      .map((name) => String(backlog.json(`bugs/${name}/bug_report.json`).fingerprint));
    expect(titles.length, at).toBe(new Set(titles).size);
    expect(backlog.list('human-actions').filter((name) => name.startsWith('ACTION')).length, at).toBeLessThanOrEqual(1);
    const files = readdirSync(backlog.folder, { recursive: true }).map(String);
    expect(
      files.filter((name) => name.endsWith('.tmp') && !name.startsWith('.git')),
      at,
    ).toEqual([]);
    // What runs filed and noted is committed.
    const kinds = ['bugs', 'features', 'human-actions', 'completed'];
    expect(backlog.git('status', '--short', '--untracked-files=all', '--', ...kinds), at).toBe('');
  }
});
