/**
 * A run with three items in progress that kills itself: the first is worked on, the work on the second is done, and the
 * third is worked on. `node dying-together.ts FOLDER`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import type { RunState } from '../../machines/index.ts';
import { runWorkflow } from '../../src/workflow/index.ts';

const [folder = ''] = process.argv.slice(2);

const state = (): RunState => JSON.parse(readFileSync(join(folder, '.agent-state.json'), 'utf8'));
const phaseOf = (id: string) => state().in_progress.find((one) => one.id === id)?.phase;

await runWorkflow({
  backlog: folder,
  logger: pino({ level: 'silent' }),
  limits: { concurrency: 3 },
  agents: {
    process: async ({ item, root }) => {
      writeFileSync(join(root, `${item.id}.txt`), item.id);
      if (item.id === 'BUG-002') return { status: 'succeeded' };
      const first = join(folder, 'agent_runs/worktrees/BUG-001/BUG-001.txt');
      while (phaseOf('BUG-002') !== 'archiving' || !existsSync(first)) await new Promise(setImmediate);
      if (item.id === 'BUG-003') process.kill(process.pid, 'SIGKILL');
      return new Promise(() => {});
    },
  },
});
