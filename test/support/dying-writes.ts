/**
 * A run in a separate process that kills itself at one of its writes: `node dying-writes.ts FOLDER NUMBER`. Prints the
 * names of its writes, as a list, if it gets to its end.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';

const [folder = '', number = ''] = process.argv.slice(2);
const writes: string[] = [];

/** What is written, without the numbers of runs and of temporary files. */
const nameOf = (name: string, path: string) =>
  `${name} ${basename(path)
    .replace(/^\d{4}-.*Z/, 'RUN')
    .replace(/\.[\w-]+\.tmp$/, '.tmp')}`;

/** Makes every call of a function of `fs` on the backlog a write: the process dies before it, or right after it. */
function count(name: 'renameSync' | 'writeFileSync' | 'appendFileSync' | 'mkdirSync'): void {
  const real = fs[name] as (...args: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...args: unknown[]) => {
      const isOurs = !String(args[0]).includes('.locks');
      if (isOurs) writes.push(nameOf(name, String(args[name === 'renameSync' ? 1 : 0])));
      if (isOurs && writes.length === Number(number)) process.kill(process.pid, 'SIGKILL');
      return real(...args);
    },
  });
}
for (const name of ['renameSync', 'writeFileSync', 'appendFileSync', 'mkdirSync'] as const) count(name);
syncBuiltinESMExports();

const { runWorkflow } = await import('../../src/workflow/index.ts');
const { outcomeOf } = await import('./scripted-work.ts');
await runWorkflow({
  backlog: folder,
  logger: false,
  limits: { maxConsecutiveFailures: 1 },
  agents: { process: ({ item }) => outcomeOf(item.id), test: () => ({ status: 'succeeded' }) },
});
process.stdout.write(JSON.stringify(writes));
