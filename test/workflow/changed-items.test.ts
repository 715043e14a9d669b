import { chmodSync, symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createWorkItem, type WorkFunction, type WorkItemInput } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

const bug = (over: Partial<WorkItemInput> = {}) =>
  ({ item_type: 'bug', title: 'Hello', component: 'core', description: 'It is broken.', ...over }) as WorkItemInput;

function withBug(over: Record<string, unknown> = {}): TestBacklog {
  const backlog = new TestBacklog();
  backlog.bug(1, over);
  return backlog;
}

describe('W-1 W-2: items that agents change during a run', () => {
  const folder = 'bugs/BUG-001-bug-1';
  const writing =
    (backlog: TestBacklog, text: string, status: 'succeeded' | 'blocked' = 'succeeded'): WorkFunction =>
    () => {
      backlog.write(`${folder}/bug_report.json`, text);
      return { status, message: 'buy the licence' };
    };

  it('an item that its agent marks as resolved is still tested and archived', async () => {
    const backlog = withBug();
    const { result } = await runOver(backlog, { process: writing(backlog, '{"status": "resolved"}'), test: succeeds });
    expect(result).toMatchObject({ succeeded: ['BUG-001'], failures: [], problems: [] });
    expect(backlog.json('completed/BUG-001-bug-1/bug_report.json').status).toBe('completed');
  });

  it('an item whose report file was corrupted by its agent is archived unchanged', async () => {
    const backlog = withBug();
    const { result } = await runOver(backlog, { process: writing(backlog, '{"status') });
    expect(result.succeeded).toEqual(['BUG-001']);
    expect(backlog.read('completed/BUG-001-bug-1/bug_report.json')).toBe('{"status');
  });

  it('a missing item is a critical error, not a success', async () => {
    const backlog = withBug();
    const { rmSync } = await import('node:fs');
    const { result } = await runOver(backlog, {
      process: () => {
        rmSync(`${backlog.folder}/${folder}`, { recursive: true });
        return { status: 'succeeded' };
      },
    });
    expect(result).toMatchObject({
      succeeded: [],
      incidents: [{ kind: 'critical_error', message: `${folder} is gone` }],
    });
  });

  it('a human action is written for a blocked item even if the item cannot be marked', async () => {
    const backlog = withBug();
    const { result } = await runOver(backlog, { process: writing(backlog, '{"status', 'blocked') });
    expect(result.created).toMatchObject([{ id: 'ACTION-001', title: 'Unblock BUG-001: buy the licence' }]);
    expect(result.problems).toEqual(['BUG-001 could not be read, so it is not marked as blocked by ACTION-001']);
  });

  it('a git failure while an item is set aside is a critical error, and the human action is still listed', async () => {
    const backlog = withBug();
    backlog.write('.agent-config.json', '{"auto_commit": true}');
    backlog.write('.git/hooks/pre-commit', '#!/bin/sh\necho not today >&2\nexit 1\n');
    chmodSync(`${backlog.folder}/.git/hooks/pre-commit`, 0o755);
    const { result } = await runOver(backlog, { process: () => ({ status: 'blocked', message: 'buy it' }) });
    expect(result.incidents).toMatchObject([{ kind: 'critical_error', phase: 'settingAside' }]);
    expect(result.created.map(({ id }) => id)).toEqual(expect.arrayContaining(['ACTION-001', 'BUG-002']));
  });

  it('items that agents create are listed but not processed by the same run, so that it ends', async () => {
    const backlog = withBug();
    const { result } = await runOver(backlog, {
      process: async ({ item }) => {
        await createWorkItem(backlog.folder, bug({ title: `Found while at ${item.id}` }));
        return { status: 'succeeded' };
      },
    });
    expect(result).toMatchObject({ iterations: 1, succeeded: ['BUG-001'] });
    expect(result.created).toMatchObject([{ id: 'BUG-002', why: 'created during the run' }]);
  });

  it('a STOP in an item that succeeds is listed with its archived path', async () => {
    const backlog = withBug();
    const { result } = await runOver(backlog, {
      process: () => {
        backlog.write(`${folder}/comments.md`, 'STOP: next year\r\nComponent: \r\n');
        return { status: 'succeeded' };
      },
    });
    const feature = backlog.json(`${result.created[0]?.folder}/feature_request.json`);
    expect(feature.title).toBe('User-requested work: next year');
    expect(feature.evidence[0]?.location).toBe('completed/BUG-001-bug-1/comments.md');
    expect(backlog.has(feature.evidence[0]?.location ?? '')).toBe(true);
  });
});

it.each<[string, (backlog: TestBacklog) => void]>([
  ['configured', (backlog) => backlog.git('config', 'core.hooksPath', '..hooks')],
  ['by an absolute path', (backlog) => backlog.git('config', 'core.hooksPath', `${backlog.folder}/..hooks`)],
  [
    'linked one by one',
    (backlog) => {
      for (const name of ['pre-commit', 'post-index-change'])
        symlinkSync(`../../..hooks/${name}`, `${backlog.folder}/.git/hooks/${name}`);
    },
  ],
])('a run runs no hook that lies in the work tree, where an agent may have written it: %s', async (_, set) => {
  const backlog = new TestBacklog();
  backlog.write('.agent-config.json', JSON.stringify({ auto_commit: true }));
  backlog.bug(1);
  backlog.git('add', '--all');
  backlog.git('commit', '--quiet', '--message=As found');
  backlog.write('.git/hooks/keep', '');
  set(backlog);
  const process: WorkFunction = () => {
    for (const name of ['pre-commit', 'post-index-change']) {
      backlog.write(`..hooks/${name}`, '#!/bin/sh\ntouch ran\n');
      chmodSync(`${backlog.folder}/..hooks/${name}`, 0o755);
    }
    return { status: 'succeeded' };
  };
  const { result } = await runOver(backlog, { process });
  expect([result.succeeded, backlog.has('ran')]).toEqual([['BUG-001'], false]);
  expect(backlog.git('-c', 'core.hooksPath=/dev/null', 'log', '-1', '--format=%s')).toBe('Complete BUG-001');
});
