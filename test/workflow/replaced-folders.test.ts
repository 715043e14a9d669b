import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { runOver } from '../support/backlog.ts';
import { projectWith } from '../support/project.ts';

type Change = (at: (path: string) => string) => void;

const changes: [string, Change, string[]][] = [
  [
    'a folder by a file',
    (at) => {
      rmSync(at('lib'), { recursive: true });
      writeFileSync(at('lib'), 'A file now.');
    },
    ['f.txt', 'lib', 'other/a.txt'],
  ],
  [
    'a folder by a link',
    (at) => {
      rmSync(at('lib'), { recursive: true });
      symlinkSync('other', at('lib'));
    },
    ['f.txt', 'lib', 'other/a.txt'],
  ],
  [
    'a file by a folder',
    (at) => {
      rmSync(at('f.txt'));
      mkdirSync(at('f.txt'));
      writeFileSync(at('f.txt/x'), 'x');
    },
    ['f.txt/x', 'lib/a.txt', 'other/a.txt'],
  ],
];

describe.each([1, 2])('W-1, W-2: work on %i items at once that replaces', (concurrency) => {
  it.each(changes)('%s is committed, and nothing else', async (_, change, files) => {
    const project = projectWith(1);
    for (const name of ['lib/a.txt', 'other/a.txt', 'f.txt']) project.write(name, name);
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=Files');
    const process: WorkFunction = ({ root }) => {
      change((path) => join(root, path));
      return { status: 'succeeded', message: 'Done.' };
    };
    const { result } = await runOver(project, { process }, { limits: { concurrency } });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001'], problems: [], failures: [] });
    expect(project.git('ls-tree', '-r', '--name-only', 'HEAD', '--', 'lib', 'other', 'f.txt').split('\n')).toEqual(
      files,
    );
    expect(project.git('status', '--short', '--', 'lib', 'other', 'f.txt')).toBe('');
  });
});
