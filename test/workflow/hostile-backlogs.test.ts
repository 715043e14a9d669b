import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createWorkItem } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

const item = { item_type: 'bug', title: 'New', component: 'core', description: 'It is new.' } as const;
const done = { process: () => ({ status: 'succeeded' as const }) };

/** A folder outside the project, with a file of its owner. */
function outside(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-outside-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'letter.txt'), 'Dear all');
  return folder;
}

function link(backlog: TestBacklog, path: string, target: string): void {
  mkdirSync(dirname(join(backlog.folder, path)), { recursive: true });
  symlinkSync(target, join(backlog.folder, path));
}

describe('a backlog from another author', () => {
  it.each([
    ['agent_runs', '', 'is a link that leads outside the backlog'],
    ['agent_runs/worktrees', '', 'is a link'],
    ['agent_runs/kept-worktrees', '', 'is a link'],
    ['agent_runs/.locks/.gitignore', 'letter.txt', 'is a link'],
    ['agent_runs/.locks/run.holder', 'letter.txt', 'is a link'],
    ['bugs/bugs.md', 'letter.txt', 'is a link that leads outside the backlog'],
    ['.agent-config.json', 'letter.txt', 'is a link that leads outside the backlog'],
    ['.agent-state.json', 'letter.txt', 'is a link that leads outside the backlog'],
  ])('with the link %s has no run and no new items, and nothing outside it changes', async (path, file, problem) => {
    const [backlog, folder] = [new TestBacklog(), outside()];
    backlog.bug(1);
    link(backlog, path, join(folder, file));
    const refused = { code: 'backlog_failed', message: expect.stringContaining(`${path} ${problem}.`) };
    await expect(runOver(backlog, done)).rejects.toMatchObject(refused);
    await expect(createWorkItem(backlog.folder, item)).rejects.toMatchObject(refused);
    expect(readdirSync(folder)).toEqual(['letter.txt']);
    expect(readFileSync(join(folder, 'letter.txt'), 'utf8')).toBe('Dear all');
  });

  it('runs no program, though its folder has the files of a repository', async () => {
    const project = new TestBacklog();
    const proof = join(outside(), 'proof');
    project.write('own/bugs/BUG-001-x/PROMPT.md', '# BUG-001: X\n\n**Status**: new\n');
    project.write('own/objects/info/x', '');
    project.write('own/refs/heads/x', '');
    project.write('own/HEAD', 'ref: refs/heads/main\n');
    const settings = [
      'repositoryformatversion = 0',
      'bare = false',
      'worktree = ..',
      `fsmonitor = "touch ${proof}; false"`,
    ];
    project.write('own/config', `[core]\n\t${settings.join('\n\t')}\n`);
    project.write('own/.agent-config.json', JSON.stringify({ auto_commit: true }));
    const own = join(project.folder, 'own');
    await createWorkItem(own, item).catch(() => null);
    await runOver(project, done, { backlog: own }).catch(() => null);
    expect(existsSync(proof)).toBe(false);
  });
});
