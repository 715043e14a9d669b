import { lineOf, tortureBadge, tortureText } from '../torture/report.ts';
import type { TaskResult } from '../torture/task-result.ts';
import { torture } from '../torture/torture.ts';
import { exitCodes, type Flags } from './command-line.ts';
import { packageFile } from './package-root.ts';
import { checkWritable, writeFile } from './session-page.ts';

/** `pawl torture`: runs a loop, which is Pawl if none is named, on tasks with replies that go wrong. */
export async function tortureCommand(command: readonly string[], flags: Flags): Promise<number> {
  for (const file of [flags.output, flags.badge]) if (file !== undefined) checkWritable(file);
  const { rate, wire, world, seed, tasks, faults, kills, jobs, settings, json } = flags;
  const show = (result: TaskResult) => {
    if (!json && result.judgement !== 'right') process.stdout.write(`${lineOf(result)}\n`);
  };
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);
  const running = torture(
    {
      signal: interrupted.signal,
      command: command.length > 0 ? command : [process.execPath, packageFile('examples/torture/pawl.js')],
      ...(kills !== undefined && { kills }),
      ...(wire !== undefined && { wire }),
      ...(world !== undefined && { world }),
      ...(rate !== undefined && { rate: rate / 100 }),
      ...(seed !== undefined && { seed }),
      ...(tasks !== undefined && { tasks: tasks.split(',') }),
      ...(faults !== undefined && { faults: faults.split(',') }),
      ...(jobs !== undefined && { jobs }),
      ...(settings !== undefined && { settings }),
    },
    show,
  );
  const report = await running.catch((error) => {
    if (interrupted.signal.aborted) return null;
    throw error;
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt);
  if (report === null) return exitCodes.aborted;
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : tortureText(report));
  if (flags.output !== undefined) writeFile(flags.output, `${JSON.stringify(report, null, 2)}\n`);
  if (flags.badge !== undefined) writeFile(flags.badge, `${JSON.stringify(tortureBadge(report))}\n`);
  const { right, failed, claimed, twice, exceeded, hung } = report.totals;
  // A loop that does nothing right is set up wrong, and so is one that fails without any fault.
  const isSetUp = right > 0 && (report.rate > 0 || failed === 0);
  return isSetUp && claimed + twice + exceeded + hung === 0 ? exitCodes.succeeded : exitCodes.failed;
}
