import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startModelServer } from '../../src/testing/index.ts';
import { done, TestBacklog } from '../support/backlog.ts';

const count = 40;
/** With one item at a time, a kill interrupts one; with four, it may interrupt all of them. */
const ways = [
  {
    concurrency: 1,
    failing: [5, 6, 7],
    stopping: 20,
    kills: { items: [2, 9, 13, 17, 21, 24, 28, 31, 35, 39], requests: [] },
  },
  {
    concurrency: 4,
    failing: [8, 9, 10],
    stopping: 20,
    kills: { items: [], requests: [2, 17, 22, 27, 32, 37, 42, 47, 52, 57] },
  },
];

/** It takes 50 s, so it is part of `npm run verify`; `crash.test.ts` kills a run in each of its phases. */
const isVerified = process.env.PAWL_WALKS === 'all';

const agent = '---\nname: worker\nlimits:\n  maxTurns: 1\n  maxRetries: 1\n---\nYou work.\n';
const command = existsSync('dist/src/cli/main.js') ? 'dist/src/cli/main.js' : 'src/cli/main.ts';

const id = (number: number) => `BUG-${String(number).padStart(3, '0')}`;

it.runIf(isVerified).each(ways)(
  `W-1 W-2 W-4: ${count} items, $concurrency at once, two early exits and ten kills: each item ends in exactly one place`,
  {
    timeout: 300_000,
  },
  async ({ concurrency, failing, stopping, kills }) => {
    const backlog = new TestBacklog();
    for (let number = 1; number <= count; number += 1)
      backlog.bug(number, { title: `Problem ${'abcdefghij'[number % 10]} ${number}` });
    backlog.write('.agent-config.json', '{"auto_commit": true}');
    backlog.write('agents/process.md', agent);
    backlog.write('.gitignore', 'agent_runs\n.agent-state.json*\n');
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=As found');
    const comments = `bugs/${id(stopping)}-bug-${stopping}/comments.md`;

    const toKill = new Set(kills.items.map(id));
    const killAt: number[] = [...kills.requests];
    let requests = 0;
    const toFail = new Set(failing.map(id));
    const workedOn = new Map<string, number>();
    let hasStopped = false;
    let kill = () => {};
    await using server = await startModelServer(({ body }) => {
      const [, item = ''] = /# ((?:BUG|FEAT|ACTION)-\d+):/.exec(JSON.stringify(body.messages)) ?? [];
      requests += 1;
      if (toKill.delete(item) || requests === killAt[0]) {
        if (concurrency > 1) killAt.shift();
        kill();
        return { hang: true };
      }
      if (toFail.delete(item)) return done('failed', 'Not today.');
      if (item === id(stopping) && !hasStopped) {
        hasStopped = true;
        backlog.write(comments, 'STOP: look at this first\n');
      }
      workedOn.set(item, (workedOn.get(item) ?? 0) + 1);
      return done();
    });
    const args = [
      command,
      'work',
      backlog.folder,
      '--concurrency',
      String(concurrency),
      '--base-url',
      server.url,
      '--model',
      'm',
      '--log-level',
      'silent',
      '--json',
    ];
    const run = () =>
      new Promise<{ signal: string | null; stdout: string }>((resolve) => {
        const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        let stdout = '';
        child.stdout.on('data', (data) => {
          stdout += data;
        });
        kill = () => child.kill('SIGKILL');
        child.once('close', (_, signal) => resolve({ signal, stdout }));
      });

    const ends: string[] = [];
    const open = () => {
      const names = backlog.list('bugs').filter((name) => name.startsWith('BUG-'));
      return names.filter((name) => backlog.json(`bugs/${name}/bug_report.json`).status !== 'needs-review');
    };
    while (ends.length < 30 && (open().length > 0 || ends.length === 0)) {
      const { signal, stdout } = await run();
      if (signal !== null) ends.push('killed');
      else {
        const { incidents } = JSON.parse(stdout) as { incidents: { kind: string }[] };
        ends.push(incidents.find(({ kind }) => kind !== 'crash')?.kind ?? 'completed');
      }
      if (ends.at(-1) !== 'stop') continue;
      const place = backlog.has(comments) ? comments : comments.replace('bugs/', 'completed/');
      backlog.write(place, backlog.read(place).replace(/^STOP: .*$/m, 'Looked at.'));
      backlog.git('commit', '--quiet', '--all', '--message=Looked at');
    }

    expect(ends.filter((end) => end === 'killed')).toHaveLength(10);
    expect(ends).toContain('consecutive_failures');
    expect(ends.filter((end) => end === 'stop')).toHaveLength(1);
    const places = ['bugs', 'features', 'human-actions', 'completed'].flatMap((place) =>
      backlog.list(place).filter((name) => /^[A-Z]+-\d+/.test(name)),
    );
    const ids = places.map((name) => /^[A-Z]+-\d+/.exec(name)?.[0] ?? '');
    expect(ids.length).toBe(new Set(ids).size);
    for (let number = 1; number <= count; number += 1) {
      const isDone = backlog.has(`completed/${id(number)}-bug-${number}`);
      // Two kills may interrupt the same item, which is then left to a person.
      const isLeft = () =>
        concurrency > 1 && backlog.json(`bugs/${id(number)}-bug-${number}/bug_report.json`).status === 'needs-review';
      expect(isDone || isLeft(), id(number)).toBe(true);
      // A success is worked on once, however the process died after it.
      if (concurrency === 1) expect(workedOn.get(id(number)), id(number)).toBe(1);
    }
    const rows = backlog.read('bugs/bugs.md').split('\n');
    for (const own of ids.filter((one) => one.startsWith('BUG') && Number(one.slice(4)) > count))
      expect(
        rows.filter((row) => row.startsWith(`| ${own} |`)),
        own,
      ).toHaveLength(1);
    expect(backlog.git('status', '--short')).toBe('');
    expect(backlog.has('agent_runs/in-progress.json')).toBe(false);
    expect(backlog.git('worktree', 'list').split('\n')).toHaveLength(1);
  },
);
