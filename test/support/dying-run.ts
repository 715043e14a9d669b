/** A run in a process of its own, which kills itself in the phase that it is told: `node dying-run.ts FOLDER PHASE`. */
import pino from 'pino';
import { runWorkflow, type WorkResult } from '../../src/index.ts';

const [folder = '', phase = ''] = process.argv.slice(2);

function dieIn(here: string): void {
  if (here === phase) process.kill(process.pid, 'SIGKILL');
}

/** BUG-002 is blocked, and all from BUG-003 on fail. */
function outcomeOf(id: string): WorkResult {
  if (id === 'BUG-002') return { status: 'blocked', message: 'somebody has to buy the licence' };
  return id === 'BUG-001' ? { status: 'succeeded' } : { status: 'failed', message: 'no', slugs: ['tool_exec_failed'] };
}

await runWorkflow({
  backlog: folder,
  logger: pino({ level: 'silent' }),
  agents: {
    scan: (items) => {
      dieIn('scanning');
      return items.map(({ id }) => id);
    },
    process: ({ item }) => {
      dieIn('processing');
      return outcomeOf(item.id);
    },
    test: () => {
      dieIn('testing');
      return { status: 'succeeded' };
    },
    retrospective: () => {
      dieIn('reviewing');
      return 'It went as it went.';
    },
    summary: () => {
      dieIn('summarising');
      return 'Nothing much.';
    },
  },
  // The others are died in by a git that kills its parent: see the test.
  onEvent: (event) => {
    if (event.type === 'phase.started' && event.phase === 'restoring') dieIn('restoring');
    if (event.type === 'phase.started' && event.phase === phase) process.env.PAWL_DIE_ON = 'commit';
  },
});
