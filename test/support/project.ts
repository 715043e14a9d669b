import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestBacklog } from './backlog.ts';

/** Creates a committed project with the given number of bugs and a file of 60 lines. */
export function projectWith(bugs: number, config = '{"auto_commit": true}'): TestBacklog {
  const backlog = new TestBacklog();
  for (let number = 1; number <= bugs; number += 1) backlog.bug(number);
  backlog.write('lines.txt', Array.from({ length: 60 }, (_, index) => `line ${index}\n`).join(''));
  backlog.write('.gitignore', 'agent_runs\n.agent-state.json*\n');
  backlog.write('.agent-config.json', config);
  backlog.git('add', '--all');
  backlog.git('commit', '--quiet', '--message=As found');
  return backlog;
}

/** Returns a function whose calls end once it has been called `count` times. */
export function together(count: number): () => Promise<void> {
  const all = Promise.withResolvers<void>();
  let come = 0;
  return () => {
    come += 1;
    if (come === count) all.resolve();
    return all.promise;
  };
}

export const numberOf = (id: string) => Number(id.slice(4));

export function editLine(root: string, line: number, text: string): void {
  const path = join(root, 'lines.txt');
  const lines = readFileSync(path, 'utf8').split('\n');
  lines[line] = text;
  writeFileSync(path, lines.join('\n'));
}
