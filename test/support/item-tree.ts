import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addTree, type ItemTree, presentState, workIn } from '../../src/workflow/git/item-tree.ts';
import { TestBacklog } from './backlog.ts';

/** A project with a backlog, and the work tree of its item BUG-001. */
export function itemTree() {
  const project = new TestBacklog();
  project.write('lines.txt', 'one\ntwo\nthree\nfour\nfive\n');
  project.write('backlog/bugs/BUG-001-x/comments.md', 'First.\n');
  project.git('add', '--all');
  project.git('commit', '--quiet', '--message=As found');
  const root = join(project.folder, 'backlog/agent_runs/run/BUG-001');
  const tree: ItemTree = { project: project.folder, root, backlog: 'backlog' };
  return {
    ...{ project, tree },
    own: (path: string, text: string) => {
      mkdirSync(join(root, path, '..'), { recursive: true });
      writeFileSync(join(root, path), text);
    },
    checkedOut: async () => addTree(tree, await presentState(project.folder)),
    work: () => workIn(tree, [], 'Work on BUG-001'),
  };
}

/** The message of the error with which work fails; null if it does not. */
export const failure = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: Error) => error.message,
  );
