import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

/** Creates a committed project with so many bugs and a file of ten lines. */
function projectWith(bugs: number, config = '{"auto_commit": true}'): TestBacklog {
  const backlog = new TestBacklog();
  for (let number = 1; number <= bugs; number += 1) backlog.bug(number);
  backlog.write('lines.txt', Array.from({ length: 60 }, (_, index) => `line ${index}\n`).join(''));
  backlog.write('.gitignore', 'agent_runs\n.agent-state.json*\n');
  backlog.write('.agent-config.json', config);
  backlog.git('add', '--all');
  backlog.git('commit', '--quiet', '--message=As found');
  return backlog;
}

/** A function that returns once `count` calls of it have come. */
function together(count: number): () => Promise<void> {
  const all = Promise.withResolvers<void>();
  let come = 0;
  return () => {
    come += 1;
    if (come === count) all.resolve();
    return all.promise;
  };
}

const numberOf = (id: string) => Number(id.slice(4));

function editLine(root: string, line: number, text: string): void {
  const path = join(root, 'lines.txt');
  const lines = readFileSync(path, 'utf8').split('\n');
  lines[line] = text;
  writeFileSync(path, lines.join('\n'));
}

describe('W-1: several items at once', () => {
  it('are worked on in work trees of their own, and merged and archived in the order of the queue', async () => {
    const backlog = projectWith(4);
    const all = together(4);
    const roots: string[] = [];
    const ended: string[] = [];
    const process: WorkFunction = async ({ item, root, folder }) => {
      roots.push(root);
      expect(folder).toBe(join(root, item.folder));
      await all();
      editLine(root, 10 * numberOf(item.id), `by ${item.id}`);
      writeFileSync(join(root, `${item.id}.txt`), item.id);
      // The last one ends first.
      for (let rest = 4 - numberOf(item.id); rest < 3; rest += 1) await new Promise(setImmediate);
      ended.push(item.id);
      return { status: 'succeeded' };
    };
    const { result, events } = await runOver(backlog, { process }, { limits: { concurrency: 4 } });
    expect(result).toMatchObject({
      status: 'completed',
      iterations: 4,
      failures: [],
      problems: [],
      warnings: [expect.stringContaining('no test agent')],
    });
    const ids = ['BUG-001', 'BUG-002', 'BUG-003', 'BUG-004'];
    expect(result.succeeded).toEqual(ids);
    expect(new Set(roots).size).toBe(4);
    expect(events.filter(({ type }) => type === 'item.started')).toHaveLength(4);
    const log = backlog.git('log', '--reverse', '--format=%s').split('\n');
    expect(log.slice(-4)).toEqual(ids.map((id) => `Complete ${id}`));
    for (const id of ids) expect(backlog.read(`${id}.txt`)).toBe(id);
    const lines = backlog.read('lines.txt').split('\n');
    expect([10, 20, 30, 40].map((line) => lines[line])).toEqual(ids.map((id) => `by ${id}`));
    expect(backlog.git('status', '--short')).toBe('');
    expect(backlog.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(backlog.git('for-each-ref', 'refs/pawl')).toBe('');
  });
});
