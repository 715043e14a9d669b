/** A run with two items at once; a fake git in the PATH kills it: `node dying-merges.ts FOLDER`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { runWorkflow } from '../../src/workflow/index.ts';
import { editLine, numberOf } from './project.ts';

const [folder = ''] = process.argv.slice(2);

await runWorkflow({
  backlog: folder,
  logger: pino({ level: 'silent' }),
  limits: { concurrency: 2 },
  agents: {
    process: ({ item, root }) => {
      writeFileSync(join(root, `${item.id}.txt`), item.id);
      editLine(root, 10 * numberOf(item.id), `by ${item.id}`);
      return { status: item.id === 'BUG-003' ? 'failed' : 'succeeded' };
    },
  },
});
