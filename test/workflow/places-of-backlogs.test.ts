import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runWorkflow, type WorkFunction } from '../../src/workflow/index.ts';
import { TestBacklog } from '../support/backlog.ts';

/** A project with some bugs in a backlog below it. */
function projectAround(place: string, numbers: readonly number[]) {
  const project = new TestBacklog();
  for (const number of numbers)
    project.write(`${place}/bugs/BUG-00${number}-x/PROMPT.md`, `# BUG-00${number}: X\n\n**Status**: new\n`);
  return { project, backlog: join(project.folder, place) };
}

/** A project with three bugs in a backlog that git ignores, and `auto_commit`. */
function projectThatIgnores(place: string) {
  const { project, backlog } = projectAround(place, [1, 2, 3]);
  project.write('.gitignore', `${place}/\n`);
  project.git('add', '--all');
  project.git('commit', '--quiet', '--message=Ignore the plan');
  project.write(`${place}/.agent-config.json`, '{"auto_commit": true}');
  return { project, backlog };
}

describe('W-1: a backlog in an odd place', () => {
  it('that git ignores: with auto_commit, only the work on its items is committed', async () => {
    const { project, backlog } = projectThatIgnores('plan');
    const process: WorkFunction = ({ item }) => {
      writeFileSync(join(project.folder, `${item.id}.txt`), 'work');
      return { status: item.id === 'BUG-002' ? 'failed' : 'succeeded', message: 'Done.' };
    };
    const result = await runWorkflow({ backlog, agents: { process }, logger: false });
    expect(result).toMatchObject({
      status: 'completed',
      succeeded: ['BUG-001', 'BUG-003'],
      incidents: [],
      problems: [],
    });
    expect(project.list('plan/completed')).toHaveLength(2);
    expect(project.git('show', 'HEAD:BUG-001.txt')).toBe('work');
    expect(project.git('show', 'HEAD:BUG-003.txt')).toBe('work');
    expect(project.git('ls-files', 'plan')).toBe('');
  });

  it('that git ignores: what a run files about itself is no problem of the run', async () => {
    const { project, backlog } = projectThatIgnores('plan');
    const process: WorkFunction = () => ({ status: 'failed', message: 'It does not work.' });
    const result = await runWorkflow({ backlog, agents: { process }, logger: false });
    expect(result).toMatchObject({ status: 'exitedEarly', problems: [] });
    expect(result.incidents).toMatchObject([{ kind: 'consecutive_failures' }]);
    expect(result.created).toHaveLength(1);
    expect(project.git('ls-files', 'plan')).toBe('');
  });

  it.each(['[plan]', 'a*b?', 'b\\"c', 'plan ü'])('%j: comments of two sides are both kept', async (place) => {
    const { project, backlog } = projectAround(place, [1, 2]);
    mkdirSync(join(backlog, 'features'), { recursive: true });
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=The plan');
    const process: WorkFunction = ({ item, folder }) => {
      writeFileSync(join(folder, 'comments.md'), `# Comments\nMore on ${item.id}\n`);
      return { status: 'succeeded', message: 'Done.' };
    };
    const result = await runWorkflow({ backlog, agents: { process }, limits: { concurrency: 2 }, logger: false });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001', 'BUG-002'], failures: [] });
    const [completed = ''] = project.list(`${place}/completed`);
    const comments = project.read(`${place}/completed/${completed}/comments.md`);
    expect(comments).toMatch(/succeeded[\s\S]*More on BUG-001/);
  });
});
