import { join } from 'node:path';
import { MemoryJournal } from '../../journal/memory.ts';
import type { SessionBudget } from '../../session/options.ts';
import { readConfig } from '../../workflow/backlog/config.ts';
import { backlogIn } from '../../workflow/backlog/find-backlog.ts';
import { repositoryOf } from '../../workflow/git/git.ts';
import { runWorkflow, type WorkflowResult } from '../../workflow/run/run-workflow.ts';
import type { Flags } from '../command-line.ts';
import { exitCodes, UsageError } from '../command-line.ts';
import { commandLogger } from '../log.ts';
import { keepOpenUntilInterrupted, openInspector, tellPage } from '../session-page.ts';
import { interruption } from '../terminal/running.ts';
import { WorkView } from '../terminal/work-view.ts';
import { agentsOf, found, type Project } from './agents.ts';
import { initWork } from './init.ts';
import { plan } from './plan.ts';

/** Ended sessions that the page of a run keeps, in memory. */
const mostKept = 1_000;

/** `pawl work`: works through the backlog in a folder. With `--dry-run`, only shows what a run would do. */
export async function workCommand(positionals: readonly string[], flags: Flags): Promise<number> {
  const [given, ...more] = positionals;
  if (given === undefined) throw new UsageError('Missing backlog: pawl work DIRECTORY.');
  if (more.length > 0) throw new UsageError(`Pass one directory; got ${given} ${more.join(' ')}.`);
  const backlog = backlogIn(given);
  const project: Project = { backlog, root: (await repositoryOf(backlog))?.root ?? backlog };
  if (flags.init) return initWork(project);
  const config = readConfig(backlog);
  const agents = agentsOf(project, config, flags);
  if (flags.dryRun) return plan(project, config, agents, flags);
  for (const agent of [agents.process, agents.test]) {
    const fixed = (flags.concurrency ?? 1) > 1 ? await agent?.fixedFile() : null;
    if (fixed) throw new UsageError(`${fixed} must export a function of { root } to be used with --concurrency.`);
  }
  if (config.agents.process === undefined && found(project, agents.process.name) === null)
    throw new UsageError(
      `No agent ${agents.process.name} to work on the items; looked in: ${agents.process.lookedFor.join(', ')}. \`pawl work DIRECTORY --init\` writes one.`,
    );
  for (const agent of Object.values(agents)) await agent.check();
  const view = flags.json ? null : new WorkView(process.stdout);
  const ending = new AbortController();
  // The first Ctrl-C ends the run cleanly. The second one kills it, and the next run resumes from the state file.
  const interrupt = (signal: NodeJS.Signals) => {
    if (ending.signal.aborted) process.exit(exitCodes.aborted);
    ending.abort(interruption(signal));
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  process.on('SIGHUP', interrupt);
  const inspector = flags.inspect ? await openInspector(flags, new MemoryJournal({ keep: mostKept })) : null;
  if (inspector !== null) tellPage(inspector.address);
  const result = await runWorkflow({
    backlog,
    agents,
    limits: {
      ...(flags.once && { maxItems: 1 }),
      ...(flags.concurrency !== undefined && { concurrency: flags.concurrency }),
    },
    budget: budgetOf(flags),
    signal: ending.signal,
    ...(inspector !== null && { journal: inspector.journal }),
    logger: commandLogger(flags, { isShown: view !== null }),
    onEvent: (event) => view?.show(event),
    onSessionEvent: (event, { metadata }) => view?.showSession(event, metadata),
  }).finally(() => {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    process.off('SIGHUP', interrupt);
  });
  if (view === null) process.stdout.write(`${JSON.stringify(result)}\n`);
  else view.end(result, join(backlog, 'agent_runs', result.run));
  if (inspector !== null && !ending.signal.aborted) await keepOpenUntilInterrupted(inspector.address);
  await inspector?.close();
  return exitCodeOf(result);
}

function budgetOf({ maxRequests, maxTokens, maxSeconds }: Flags): SessionBudget {
  return {
    ...(maxRequests !== undefined && { requests: maxRequests }),
    ...(maxTokens !== undefined && { tokens: maxTokens }),
    ...(maxSeconds !== undefined && { wallClockMs: maxSeconds * 1_000 }),
  };
}

/** Returns the exit code. A failed item fails the run too, so that the caller notices. */
function exitCodeOf({ status, failures, abortReason }: WorkflowResult): number {
  if (abortReason !== null) return exitCodes.aborted;
  return status === 'completed' && failures.length === 0 ? exitCodes.succeeded : exitCodes.failed;
}
