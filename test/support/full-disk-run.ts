/** A run in which every item fails with long error output, run under a file size limit: `full-disk-run.ts FOLDER`. */
import pino from 'pino';
import { runWorkflow } from '../../src/workflow/index.ts';

const result = await runWorkflow({
  backlog: process.argv[2] ?? '',
  logger: pino({ level: 'silent' }),
  agents: {
    process: () => ({ status: 'failed', message: `${'much ado '.repeat(200)}the end of the error output` }),
  },
});
process.stdout.write(JSON.stringify(result));
