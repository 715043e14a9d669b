import { chmodSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';
import { projectWith } from '../support/project.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

describe('W-1: an item that is archived says that it is done', () => {
  it.each([
    ['an empty date', { completed_date: null }],
    ['the date of the first time', { status: 'reopened', completed_date: '2026-01-01T00:00:00Z' }],
  ])('with %s in its report', async (_, more) => {
    const backlog = new TestBacklog();
    backlog.bug(1, more);
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result.succeeded).toEqual(['BUG-001']);
    const report = backlog.json('completed/BUG-001-bug-1/bug_report.json');
    expect(report).toMatchObject({ status: 'completed', completed_date: expect.stringMatching(/^20\d\d-/) });
    expect(report.completed_date).not.toBe('2026-01-01T00:00:00Z');
  });

  it.each([
    ['bugs/BUG-001-a-better-name', 'completed/BUG-001-a-better-name'],
    ['completed/BUG-001', 'completed/BUG-001'],
    ['deprecated/BUG-001-bug-1', 'deprecated/BUG-001-bug-1'],
  ])('also if its agent moved it to %s', async (to, target) => {
    const backlog = projectWith(1);
    const process: WorkFunction = () => {
      mkdirSync(join(backlog.folder, dirname(to)), { recursive: true });
      renameSync(join(backlog.folder, 'bugs/BUG-001-bug-1'), join(backlog.folder, to));
      return { status: 'succeeded' };
    };
    const { result } = await runOver(backlog, { process });
    expect([result.status, result.succeeded, result.incidents]).toEqual(['completed', ['BUG-001'], []]);
    expect(backlog.json(`${target}/bug_report.json`)).toMatchObject({ status: 'completed' });
    expect(backlog.git('show', '--name-only', '--format=', 'HEAD').split('\n')).toContain(`${target}/bug_report.json`);
    expect(backlog.git('status', '--short', 'bugs', 'completed', 'deprecated')).toBe('');
  });

  it('with a PROMPT.md alone, in its row', async () => {
    const backlog = new TestBacklog();
    backlog.write('bugs/BUG-002-y/PROMPT.md', '# BUG-002: Y\n\n**Priority**: P1 **Status**: new\n');
    const row = (status: string, folder: string) => `| BUG-002 | Y | ${status} | ${folder} |`;
    const head = '| ID | Title | Status | Folder |\n|---|---|---|---|';
    backlog.write('bugs/bugs.md', `${head}\n${row('new', 'bugs/BUG-002-y')}\n`);
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result.succeeded).toEqual(['BUG-002']);
    expect(backlog.read('bugs/bugs.md')).toContain(row('completed', 'completed/BUG-002-y'));
  });
});

describe('W-1: a run takes no item that appeared during it', () => {
  it.each([
    ['of a prefix of its own', 'features/TASK-00', 'feature_request.json', []],
    ['with a number below the highest', 'bugs/BUG-00', 'bug_report.json', ['completed/BUG-010-x/bug_report.json']],
  ])('%s', async (_, place, reportFile, others) => {
    const backlog = new TestBacklog();
    const write = (path: string) => backlog.write(path, JSON.stringify({ title: path, status: 'new' }));
    for (const other of others) write(other);
    const add = (number: number) => write(`${place}${number}-x/${reportFile}`);
    add(1);
    const worked: string[] = [];
    const process: WorkFunction = ({ item }) => {
      worked.push(item.id);
      add(worked.length + 1);
      return { status: 'succeeded' };
    };
    const { result } = await runOver(backlog, { process }, { limits: { maxItems: 4 } });
    const id = (number: number) => `${place.split('/')[1]}${number}`;
    expect(worked).toEqual([id(1)]);
    expect(result.created.map((one) => one.id)).toEqual([id(2)]);
  });
});

it('S-5: what a hook of git prints is told without its credentials', async () => {
  const backlog = new TestBacklog();
  backlog.bug(1);
  backlog.write('.agent-config.json', '{"auto_commit": true}');
  backlog.git('add', '--all');
  backlog.git('commit', '--quiet', '--message=All');
  const token = 'ghp_0123456789abcdefghijABCDEFGHIJ';
  backlog.write(
    '.git/hooks/pre-commit',
    `#!/bin/sh\necho "cannot reach https://bot:${token}@git.example/x" >&2\nexit 1\n`,
  );
  chmodSync(join(backlog.folder, '.git/hooks/pre-commit'), 0o755);
  const run = await runOver(backlog, { process: succeeds });
  expect(JSON.stringify(run.result)).toContain('cannot reach https://bot:[redacted]@git.example/x');
  for (const told of [run.result, run.events, run.warnings, run.errors, run.report])
    expect(JSON.stringify(told)).not.toContain(token);
  const status = backlog.git('status', '--porcelain', '--untracked-files=all').split('\n');
  for (const line of status) if (backlog.has(line.slice(3))) expect(backlog.read(line.slice(3))).not.toContain(token);
});
