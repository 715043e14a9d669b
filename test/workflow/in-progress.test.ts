import { chmodSync, lstatSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readBacklog } from '../../src/workflow/backlog/backlog.ts';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { InProgress } from '../../src/workflow/run/places/in-progress.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

/** As people write it: not as a program would. */
const byHand = '{ "title": "One", "priority": "P1",\n  "status": "test-failure", "tags": [] }';

describe('W-1: an item is in_progress while it is worked on', () => {
  it('in its report file, which is as it was afterwards, byte for byte, if the work failed', async () => {
    const backlog = new TestBacklog();
    const folder = backlog.bug(1);
    backlog.write(`${folder}/bug_report.json`, byHand);
    const seen: unknown[] = [];
    const test: WorkFunction = ({ phase }) => {
      seen.push([phase, backlog.json(`${folder}/bug_report.json`).status]);
      return { status: phase === 'testing' ? 'failed' : 'succeeded' };
    };
    const { result } = await runOver(backlog, { process: test, test });
    expect(seen).toEqual([
      ['processing', 'in_progress'],
      ['testing', 'in_progress'],
    ]);
    expect(result.failures).toMatchObject([{ id: 'BUG-001', phase: 'testing' }]);
    expect(backlog.read(`${folder}/bug_report.json`)).toBe(byHand);
    expect(backlog.has('agent_runs/in-progress.json')).toBe(false);
  });

  it('in the head of PROMPT.md, if there is no report file; an item without a status gets none', async () => {
    const backlog = new TestBacklog();
    const prompt = '# FEAT-001: One\r\n\r\n**Status**: new (since May) **Priority**: P1\r\n\r\nThe status: open.\r\n';
    backlog.write('features/FEAT-001-x/PROMPT.md', prompt);
    backlog.write('features/FEAT-002-x/PROMPT.md', '# FEAT-002: Two\n\nPlain.\n');
    const seen: string[] = [];
    await runOver(backlog, {
      process: ({ item }) => {
        seen.push(backlog.read(`${item.folder}/PROMPT.md`));
        return { status: 'failed' };
      },
    });
    expect(seen).toEqual([prompt.replace('new (', 'in_progress ('), '# FEAT-002: Two\n\nPlain.\n']);
    expect(backlog.read('features/FEAT-001-x/PROMPT.md')).toBe(prompt);
    expect(backlog.list('features/FEAT-002-x')).not.toContain('feature_request.json');
  });

  it('what the work writes into the file stays, and so does a status that it sets', async () => {
    const backlog = new TestBacklog();
    const [first, second] = [backlog.bug(1), backlog.bug(2)];
    await runOver(backlog, {
      process: ({ item }) => {
        const path = `${item.folder}/bug_report.json`;
        const report = backlog.json(path);
        const own = item.id === 'BUG-001' ? { cause: 'a typo' } : { status: 'deferred' };
        backlog.write(path, JSON.stringify({ ...report, ...own }));
        return { status: 'failed' };
      },
    });
    expect(backlog.json(`${first}/bug_report.json`)).toMatchObject({ status: 'new', cause: 'a typo' });
    expect(backlog.json(`${second}/bug_report.json`)).toMatchObject({ status: 'deferred' });
  });

  it('keeps a byte order mark, the mode and long numbers; a link, another encoding and a marked item get no mark', async () => {
    const backlog = new TestBacklog();
    const folders = [1, 2, 3, 4].map((number) => backlog.bug(number));
    const path = (index: number) => join(backlog.folder, `${folders[index]}/bug_report.json`);
    const first = '\uFEFF{ "title": "One", "status": "new", "ticket": 12345678901234567890 }';
    writeFileSync(path(0), first, { mode: 0o600 });
    chmodSync(path(0), 0o600);
    const latin = Buffer.from('{ "title": "caf\xe9", "status": "new" }', 'latin1');
    writeFileSync(path(1), latin);
    renameSync(path(2), join(backlog.folder, 'shared.json'));
    symlinkSync(join(backlog.folder, 'shared.json'), path(2));
    writeFileSync(path(3), '{"title": "Four",   "status": "in_progress"}');
    const marked: unknown[] = [];
    await runOver(
      backlog,
      {
        process: ({ item }) => {
          marked.push([
            item.id,
            readFileSync(join(backlog.folder, item.folder, 'bug_report.json'), 'latin1').includes('in_progress'),
          ]);
          return { status: 'failed' };
        },
      },
      { limits: { maxConsecutiveFailures: 9 } },
    );
    expect(marked.toSorted()).toEqual([
      ['BUG-001', true],
      ['BUG-002', false],
      ['BUG-003', false],
      ['BUG-004', true],
    ]);
    expect(readFileSync(path(0), 'utf8')).toBe(first);
    expect(statSync(path(0)).mode & 0o777).toBe(0o600);
    expect(readFileSync(path(1))).toEqual(latin);
    expect(lstatSync(path(2)).isSymbolicLink()).toBe(true);
    expect(readFileSync(path(3), 'utf8')).toBe('{"title": "Four",   "status": "in_progress"}');
  });

  it('a mark that no run made changes nothing', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('agents/process.md', 'mine');
    const forged = (file: string) =>
      backlog.write(
        'agent_runs/in-progress.json',
        JSON.stringify({ item: 'BUG-001', file, before: 'evil', marked: 'mine' }),
      );
    for (const file of [
      'agents/process.md',
      '../outside.md',
      'bugs/../agents/process.md',
      'bugs/x/../../agents/process.md',
    ]) {
      forged(file);
      await new InProgress(backlog.folder).endAll();
    }
    await runOver(backlog, {
      process: () => {
        forged('agents/process.md');
        return { status: 'failed' };
      },
    });
    expect(backlog.read('agents/process.md')).toBe('mine');
  });

  it('after a crash, the next start takes the mark away; nothing of it is committed', async () => {
    const backlog = new TestBacklog();
    backlog.write('.agent-config.json', JSON.stringify({ auto_commit: true }));
    const folder = backlog.bug(1);
    backlog.write(`${folder}/bug_report.json`, byHand);
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=As found');
    const [item] = readBacklog(backlog.folder).items;
    if (item !== undefined) await new InProgress(backlog.folder).begin(item);
    expect(backlog.json(`${folder}/bug_report.json`).status).toBe('in_progress');
    const { result } = await runOver(backlog, { process: () => ({ status: 'failed' }) });
    expect(result.failures).toHaveLength(1);
    expect(backlog.read(`${folder}/bug_report.json`)).toBe(byHand);
    expect(backlog.git('log', '-p', '--', `${folder}/bug_report.json`)).not.toContain('in_progress');
  });
});
