import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { MemoryJournal } from '../journal/memory.ts';
import { tame } from '../text.ts';
import { type BacklogItem, backlogFolder, readBacklog, refOf, stopMarkers } from '../workflow/backlog/backlog.ts';
import { type BacklogConfig, readConfig } from '../workflow/backlog/config.ts';
import type { NamedAgent } from '../workflow/run/agents.ts';
import type { WorkflowAgents } from '../workflow/run/effects.ts';
import { runWorkflow, type WorkflowResult } from '../workflow/run/run-workflow.ts';
import { readAgentFile } from './agent-file.ts';
import type { Flags } from './command-line.ts';
import { exitCodes, UsageError } from './command-line.ts';
import { commandLogger } from './log.ts';
import { agentOf, interruption } from './run.ts';
import { keptOpen, openInspector } from './session-page.ts';
import { WorkView } from './terminal/work-view.ts';

/** Ended sessions that the page of a run keeps, in memory. */
const mostKept = 1_000;

type Role = keyof BacklogConfig['agents'];

/** `pawl work`: works through the backlog in a folder. With `--dry-run`, only shows what a run would do. */
export async function workCommand(positionals: readonly string[], flags: Flags): Promise<number> {
  const [given, ...more] = positionals;
  if (given === undefined) throw new UsageError('Missing backlog: pawl work DIRECTORY.');
  if (more.length > 0) throw new UsageError(`Pass one directory; got ${given} ${more.join(' ')}.`);
  const backlog = backlogFolder(given);
  const config = readConfig(backlog);
  const agents = agentsOf(backlog, config, flags);
  if (flags.dryRun) return plan(backlog, config, agents, flags);
  const view = flags.json ? null : new WorkView(process.stdout);
  const showsView = view !== null && process.stderr.isTTY === true;
  const ending = new AbortController();
  // The first Ctrl-C ends the run cleanly. The second one kills it, and the next run resumes from the state file.
  const interrupt = (signal: NodeJS.Signals) => {
    if (ending.signal.aborted) process.exit(exitCodes.aborted);
    ending.abort(interruption(signal));
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  const inspector = flags.inspect ? await openInspector(flags, new MemoryJournal({ keep: mostKept })) : null;
  if (inspector !== null) process.stderr.write(`Open this in a browser: ${inspector.address}\n`);
  const result = await runWorkflow({
    backlog,
    agents,
    limits: flags.once ? { maxItems: 1 } : {},
    signal: ending.signal,
    ...(inspector !== null && { journal: inspector.journal }),
    logger: commandLogger(flags, showsView ? 'silent' : 'warn'),
    onEvent: (event) => view?.show(event),
    onSessionEvent: (event) => view?.showSession(event),
  }).finally(() => {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  });
  if (view === null) process.stdout.write(`${JSON.stringify(result)}\n`);
  else view.end(result, join(backlog, 'agent_runs', result.run));
  if (inspector !== null && !ending.signal.aborted) await keptOpen(inspector.address);
  await inspector?.close();
  return exitCodeOf(result);
}

/** Returns the exit code. A failed item fails the run too, so that the caller notices. */
function exitCodeOf({ status, failures, abortReason }: WorkflowResult): number {
  if (abortReason !== null) return exitCodes.aborted;
  return status === 'completed' && failures.length === 0 ? exitCodes.succeeded : exitCodes.failed;
}

/** Returns the agents that the configuration names or the agent folders contain. `process` is always included. */
function agentsOf(backlog: string, { agents }: BacklogConfig, flags: Flags): WorkflowAgents {
  const asked = (role: Role) => named(backlog, agents[role] ?? role, flags);
  const present = (role: Role) => agents[role] !== undefined || found(backlog, role) !== null;
  return {
    process: asked('process'),
    ...(present('scan') && { scan: asked('scan') }),
    ...(present('test') && { test: asked('test') }),
    ...(present('retrospective') && { retrospective: asked('retrospective') }),
    ...(present('summary') && { summary: asked('summary') }),
  };
}

function named(backlog: string, name: string, flags: Flags): NamedAgent {
  const lookedFor = places(backlog, name);
  return {
    name,
    lookedFor,
    load: async () => {
      const file = found(backlog, name);
      if (file === null) throw new Error(`no agent file named ${name}; looked in: ${lookedFor.join(', ')}`);
      return agentOf(await readAgentFile(file), flags);
    },
  };
}

const extensions = ['.md', '.ts', '.mts', '.js', '.mjs'];

function isPath(name: string): boolean {
  return extensions.some((extension) => name.endsWith(extension));
}

function places(backlog: string, name: string): string[] {
  if (isPath(name)) return [isAbsolute(name) ? name : resolve(backlog, name)];
  return [join(backlog, 'agents'), join(backlog, '.claude', 'agents'), join(homedir(), '.claude', 'agents')];
}

function found(backlog: string, name: string): string | null {
  const files = places(backlog, name).flatMap((place) =>
    isPath(name) ? [place] : extensions.map((extension) => join(place, `${name}${extension}`)),
  );
  return files.find((file) => existsSync(file)) ?? null;
}

/** Prints a run's planned actions; runs and writes nothing. */
function plan(backlog: string, config: BacklogConfig, agents: WorkflowAgents, flags: Flags): number {
  const { items, done, unreadable, notes } = readBacklog(backlog);
  const refs = items.map((item) => ({ ...refOf(item), why: item.why }));
  const stops = stopMarkers(backlog, '', items);
  const queue = refs.filter(({ blocked, kind }) => !blocked && kind !== 'human-action');
  const waiting = refs.filter(({ blocked, kind }) => blocked || kind === 'human-action');
  const roles = Object.entries(agents).map(([role, agent]) => {
    const { name } = agent as NamedAgent;
    return { role, name, file: found(backlog, name) };
  });
  if (flags.json) {
    process.stdout.write(
      `${JSON.stringify({ queue, waiting, done: done.map((item) => ({ ...refOf(item), why: item.why })), stops, unreadable, notes: [...config.problems, ...notes], agents: roles })}\n`,
    );
    return exitCodes.succeeded;
  }
  const row = ({ id, priority, title, why }: Pick<BacklogItem, 'id' | 'priority' | 'title' | 'why'>) =>
    `  ${priority}  ${id.padEnd(10)}  ${title} (${why})`;
  const lines = [
    ...section(`${queue.length} queued, in this order${flags.once ? ' (only the first runs)' : ''}:`, queue.map(row)),
    ...section(`${waiting.length} not queued (they wait, or are for people):`, waiting.map(row)),
    ...section(`${done.length} done:`, done.map(row)),
    ...section(
      'STOP markers, so no item would run:',
      stops.map(({ file, request }) => `  ${file}: ${request || 'no request'}`),
    ),
    ...section(
      'Unreadable:',
      unreadable.map(({ folder, problem }) => `  ${folder}: ${problem}`),
    ),
    ...section(
      'Notes:',
      [...config.problems, ...notes].map((note) => `  ${note}`),
    ),
    ...section(
      'Agents:',
      roles.map(
        ({ role, name, file }) => `  ${role.padEnd(13)}  ${file ?? `${name} not found; the run would end early`}`,
      ),
    ),
  ];
  process.stdout.write(`${tame(lines.join('\n'))}\nNothing was run or changed.\n`);
  return exitCodes.succeeded;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines, ''];
}
