/** A run in a separate process that kills itself in the given phase: `node dying-run.ts FOLDER PHASE`. */
import pino from 'pino';
import { runWorkflow, type WorkResult } from '../../src/workflow/index.ts';

const [folder = '', phase = ''] = process.argv.slice(2);

function dieIn(here: string): void {
  if (here === phase) process.kill(process.pid, 'SIGKILL');
}

/** Lets BUG-001 succeed, blocks BUG-002 and fails all later items. */
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
  // In the other phases a fake git kills its parent, this process: see the test.
  onEvent: (event) => {
    if (event.type === 'phase.started' && event.phase === 'restoring') dieIn('restoring');
    if (event.type === 'phase.started' && event.phase === 'archiving') dieIn('worked');
    if (event.type === 'phase.started' && event.phase === phase) process.env.PAWL_DIE_ON = 'commit';
  },
});
