import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { runOver } from '../support/backlog.ts';
import { projectWith } from '../support/project.ts';
import { replaceable, replacements } from '../support/replaced.ts';

describe.each([1, 2])('W-1, W-2: work on %i items at once that replaces', (concurrency) => {
  it.each(replacements)('$what is committed, and nothing else', async ({ replace, after }) => {
    const project = projectWith(1);
    for (const name of replaceable) project.write(name, name);
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=Files');
    const process: WorkFunction = ({ root }) => {
      replace((path) => join(root, path));
      return { status: 'succeeded', message: 'Done.' };
    };
    const { result } = await runOver(project, { process }, { limits: { concurrency } });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001'], problems: [], failures: [] });
    const named = ['lib', 'other', 'f.txt'];
    expect(project.git('ls-tree', '-r', '--name-only', 'HEAD', '--', ...named).split('\n')).toEqual(after);
    expect(project.git('status', '--short', '--', ...named)).toBe('');
  });
});
