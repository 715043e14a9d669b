import { chmodSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { startModelServer } from '../../src/testing/index.ts';
import { done, TestBacklog } from '../support/backlog.ts';
import { pawl, pawlInGroup, pawlOnTerminal } from '../support/pawl.ts';

const agent = (name: string) => `---\nname: ${name}\nlimits:\n  maxTurns: 1\n  maxRetries: 2\n---\nYou work.\n`;
/** Returns the flags for a silent run against `server`. */
const quietly = ({ url }: { url: string }) => ['--base-url', url, '--model', 'm', '--log-level', 'silent'];

describe('pawl work', () => {
  it('works through the items with the agents of the backlog, showing the queue, phases and report', async () => {
    await using server = await startModelServer(() => done());
    const backlog = new TestBacklog();
    backlog.bug(1, { title: 'The first' });
    backlog.feature(1, { title: 'The second', priority: 'P0' });
    backlog.write('agents/process.md', agent('worker'));
    backlog.write('.claude/agents/test.md', agent('tester'));
    const { code, stdout, stderr } = await pawl(['work', backlog.folder, '--base-url', server.url, '--model', 'm']);
    expect(code).toBe(0);
    expect(stderr.trim().split('\n')).toEqual([
      'WARN  The agent worker has no tools, so it can only report.',
      'WARN  FEAT-001: worker changed no file.',
      'WARN  BUG-001: worker changed no file.',
    ]);
    const at = [
      'FEAT-001  P0  The second',
      '├─ testing',
      'FEAT-001 succeeded',
      'BUG-001  P2  The first',
      '● completed',
    ].map((part) => stdout.indexOf(part));
    expect(at.every((index) => index >= 0)).toBe(true);
    expect(at).toEqual(at.toSorted((one, other) => one - other));
    expect(stdout).toContain('4 in 4 sessions');
    expect(stdout.match(/^│ {2}│ {2}└─ (worker|tester) succeeded {2}\d+ ms · 1 request · 15 tokens$/gm)).toHaveLength(
      4,
    );
    expect(stdout).toMatch(/tokens +40 in, 20 out/);
    expect(stdout).toMatch(/warning +FEAT-001: worker changed no file\./);
    expect(server.requests).toHaveLength(4);
    expect(backlog.list('completed')).toHaveLength(2);
  });

  it('goes on to its end, with its exit code, when the reader of its output has gone', async () => {
    let isDone = true;
    await using server = await startModelServer(() => (isDone ? done() : { text: '' }));
    const backlog = new TestBacklog();
    for (const number of [1, 2]) backlog.bug(number);
    backlog.write('agents/process.md', agent('worker'));
    const args = ['work', backlog.folder, ...quietly(server)];
    const { code } = await pawl(args, undefined, { leavesAtOnce: true });
    expect(code).toBe(0);
    expect(backlog.list('completed')).toHaveLength(2);
    isDone = false;
    backlog.bug(3);
    expect((await pawl(args, undefined, { leavesAtOnce: true })).code).toBe(1);
  });

  it.skipIf(process.platform === 'win32')(
    'Ctrl-C during a commit lets it end, as everything that has begun',
    async () => {
      await using server = await startModelServer(() => done());
      const backlog = new TestBacklog();
      for (const number of [1, 2]) backlog.bug(number);
      backlog.write('agents/process.md', agent('worker'));
      backlog.autoCommit();
      backlog.write(
        '.git/hooks/pre-commit',
        '#!/bin/sh\ntouch .git/begun\nwhile [ ! -e .git/go ]; do sleep 0.05; done\n',
      );
      chmodSync(`${backlog.folder}/.git/hooks/pre-commit`, 0o755);
      const run = pawlInGroup(['work', backlog.folder, ...quietly(server)]);
      await expect.poll(() => backlog.has('.git/begun')).toBe(true);
      run.interrupt();
      backlog.write('.git/go', '');
      expect(await run.code).toBe(130);
      expect(backlog.list('completed')).toEqual(['BUG-001-bug-1']);
      expect(backlog.lastCommit.message).toBe('Complete BUG-001');
      expect(backlog.list('bugs').filter((name) => name.startsWith('BUG'))).toEqual(['BUG-002-bug-2']);
    },
  );

  it('shows its status on one line at the bottom of a terminal, and clears the line at the end', async () => {
    await using server = await startModelServer(({ body }) =>
      JSON.stringify(body).includes('BUG-001') ? { text: '' } : done(),
    );
    const backlog = new TestBacklog();
    backlog.bug(1, { priority: 'P0' });
    backlog.bug(2);
    backlog.write('agents/process.md', agent('worker'));
    const { written, screen } = await pawlOnTerminal(['work', backlog.folder, ...quietly(server)]);
    for (const status of [
      'scanning | queue 0, 0 blocked | 0 failed in a row | 0 requests, 0 calls, 0 tokens',
      'processing BUG-001 | queue 2, 0 blocked | 0 failed in a row | 1 request, 0 calls',
      'processing BUG-002 | queue 2, 0 blocked | 1 failed in a row | 3 requests',
      'summarising | queue',
    ]) {
      expect(written).toContain(status);
    }
    expect(screen).toMatch(/● BUG-\d+ failed, 1 in a row/);
    expect(screen).toContain('● BUG-002 succeeded');
    expect(screen).not.toContain('queue');
    const narrow = await pawlOnTerminal(['work', backlog.folder, ...quietly(server)], undefined, 40);
    expect(narrow.written).toContain('scanning | queue');
    expect(narrow.screen).not.toContain('| queue');
  });

  it('--once works on one item, --json prints only the result, and a failed item sets exit code 1', async () => {
    await using server = await startModelServer(() => ({ text: '' }));
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(2);
    backlog.write('.agent-config.json', '{"agents": {"process": "my/worker.md"}}');
    backlog.write('my/worker.md', agent('worker'));
    const { code, stdout } = await pawl(['work', '--once', '--json', ...quietly(server), backlog.folder]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'completed',
      iterations: 1,
      failures: [{ id: 'BUG-001', slugs: ['retries_exhausted', 'max_turns_exhausted', 'empty_response'] }],
    });
  });

  it('--max-requests ends the run once it is reached', async () => {
    await using server = await startModelServer(() => done());
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number);
    backlog.write('agents/process.md', agent('worker'));
    const { code, stdout } = await pawl(['work', '--max-requests', '2', ...quietly(server), backlog.folder]);
    expect([code, server.requests.length]).toEqual([0, 2]);
    expect(stdout).toContain('the budget is spent: 2 requests');
    expect(backlog.list('completed')).toHaveLength(2);
  });

  it('--dry-run shows what would run and writes nothing', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1, { title: 'Take \u001b[2J me', priority: 'P1' });
    backlog.bug(2, { status: 'blocked' });
    backlog.feature(1, {}, 'STOP: rest');
    backlog.write('bugs/BUG-003-x/bug_report.json', '[]');
    const before = backlog.git('status', '--short', '--untracked-files=all');
    const { code, stdout } = await pawl(['work', '--dry-run', backlog.folder]);
    expect(code).toBe(0);
    for (const part of [
      '2 queued',
      'P1  BUG-001     Take \\u{1b}[2J me',
      '1 not queued',
      'features/FEAT-001-feature-1/comments.md: rest',
      'Unreadable',
      'process not found',
      'Nothing was run or changed.',
    ]) {
      expect(stdout).toContain(part);
    }
    expect(backlog.git('status', '--short', '--untracked-files=all')).toBe(before);
  });

  it('--dry-run shows what failed in an earlier run behind the rest, as a run takes it', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2]) backlog.bug(number, { priority: `P${number}` });
    backlog.write('agent_runs/tries.json', '{"BUG-001": ["2026-01-31T12-00-00-000Z"]}');
    const { stdout } = await pawl(['work', '--dry-run', '--json', backlog.folder]);
    expect(JSON.parse(stdout).queue.map(({ id }: { id: string }) => id)).toEqual(['BUG-002', 'BUG-001']);
  });

  it('W-1: without agents nothing is run, and nothing is filed', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const { code, stdout, stderr } = await pawl(['work', backlog.folder]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`No agent process to work on the items; looked in: ${backlog.folder}/agents, `);
    expect(backlog.list('bugs')).toEqual(['BUG-001-bug-1']);
    expect(backlog.list('')).not.toContain('agent_runs');
  });

  it('W-1: an agent that the configuration names and that is missing is filed as a bug that lists the searched paths', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('.agent-config.json', '{"agents": {"process": "bug-processor"}}');
    const { code, stdout, stderr } = await pawl(['work', backlog.folder]);
    expect(code).toBe(1);
    expect(stdout).toContain('● exited early: Unable to invoke bug-processor');
    const lines = stderr.trim().split('\n');
    expect(lines.map((line) => line.slice(0, 5))).toEqual(['WARN ', 'WARN ', 'WARN ', 'WARN ', 'ERROR']);
    const bug = backlog.json('bugs/BUG-002-session-failure-unable-to-invoke-bug/bug_report.json');
    expect(bug.evidence.map(({ location }) => location)).toContain(`${backlog.folder}/.claude/agents`);
  });

  it.each([
    ['SIGINT', 'interrupted at the keyboard'],
    ['SIGHUP', 'ended by SIGHUP'],
  ] as const)(
    '%s ends the run cleanly: the item stays open, the report is written and the exit code is 130',
    async (signal, reason) => {
      await using server = await startModelServer(() => ({ hang: true }));
      const backlog = new TestBacklog();
      backlog.bug(1);
      backlog.write('agents/process.md', agent('worker'));
      const { code, stdout } = await pawl(
        ['work', backlog.folder, '--base-url', server.url, '--model', 'm'],
        (kill, shown) => {
          if (shown.includes('├─ processing')) kill(signal);
        },
      );
      expect(code).toBe(130);
      expect(stdout).toContain(reason);
      expect(backlog.state).toMatchObject({ current_phase: 'exitedEarly', failure_count: 0 });
      expect(backlog.list('bugs')).toEqual(['BUG-001-bug-1']);
    },
  );

  it('closing its terminal ends the run cleanly, too, though nothing can be written any more', async () => {
    await using server = await startModelServer(() => ({ hang: true }));
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('agents/process.md', agent('worker'));
    const args = ['work', backlog.folder, '--base-url', server.url, '--model', 'm'];
    await pawlOnTerminal(args, (_type, shown, close) => {
      if (shown.includes('├─ processing')) close();
    });
    await expect.poll(() => backlog.state).toMatchObject({ current_phase: 'exitedEarly', failure_count: 0 });
    expect(backlog.list('bugs')).toEqual(['BUG-001-bug-1']);
    const [run] = backlog.list('agent_runs').filter((name) => !name.startsWith('.'));
    await expect.poll(() => backlog.list(`agent_runs/${run}`)).toContain('session_report.md');
  });

  it.each([
    [['work'], 'Missing backlog: pawl work DIRECTORY.'],
    [['work', '/nowhere'], 'Backlog folder not found: "/nowhere" (it does not exist).'],
    [['work', '.', '--init', '--dry-run'], '--init takes no other option.'],
    [['work', '.', '--init', '--json', '--concurrency', '2'], '--init takes no other option.'],
    [['work', '.', 'and', 'more'], 'Pass one directory; got . and more.'],
    [['run', '--once', 'x'], '--once works with pawl work, not with pawl run.'],
    [['work', '.', '--export', 'x'], '--export works with pawl run, pawl demo and pawl resume, not with pawl work.'],
    [
      ['serve', '--json'],
      '--json works with pawl run, pawl demo, pawl resume, pawl work, pawl sessions, pawl approvals, pawl cost, pawl check, pawl verify, pawl torture and pawl replay, not with pawl serve.',
    ],
  ])('a usage error prints one sentence: %o', async (args, message) => {
    const { code, stderr } = await pawl(args);
    expect([code, stderr]).toEqual([2, `pawl: ${message}\nTry pawl --help.\n`]);
  });
});
