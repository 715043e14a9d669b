import { tame } from '../../platform/text.ts';
import { type BacklogItem, readBacklog, refOf, stopMarkers } from '../../workflow/backlog/backlog.ts';
import type { BacklogConfig } from '../../workflow/backlog/config.ts';
import { behind } from '../../workflow/run/queue.ts';
import { Tries } from '../../workflow/run/tries.ts';
import { exitCodes, type Flags } from '../command-line.ts';
import { found, type Project, type ProjectAgents } from './agents.ts';

/** Prints a run's planned actions; runs and writes nothing. */
export function plan(project: Project, config: BacklogConfig, agents: ProjectAgents, flags: Flags): number {
  const { backlog } = project;
  const { items, done, unreadable, notes } = readBacklog(backlog);
  const tries = new Tries(backlog, (problem) => notes.push(problem)).failed();
  const refs = behind(items, tries).map((item) => ({ ...refOf(item), why: item.why }));
  const stops = stopMarkers(backlog, '', items);
  const queue = refs.filter(({ blocked, kind }) => !blocked && kind !== 'human-action');
  const waiting = refs.filter(({ blocked, kind }) => blocked || kind === 'human-action');
  const roles = Object.entries(agents).map(([role, agent]) => {
    const { name } = agent;
    return { role, name, file: found(project, name) };
  });
  if (flags.json) {
    process.stdout.write(
      `${JSON.stringify({ queue, waiting, done: done.map((item) => ({ ...refOf(item), why: item.why })), stops, unreadable, notes: [...config.problems, ...notes], agents: roles })}\n`,
    );
    return exitCodes.succeeded;
  }
  const row = ({ id, priority, title, why }: Pick<BacklogItem, 'id' | 'priority' | 'title' | 'why'>) =>
    `  ${priority}  ${id.padEnd(10)}  ${title} (${why})`;
  const scanned = agents.scan === undefined ? '' : ', unless the scan agent says otherwise';
  const lines = [
    ...section(`${queue.length} queued, in this order${howMany(flags)}${scanned}:`, queue.map(row)),
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

function howMany({ once, concurrency = 1 }: Flags): string {
  if (once) return ' (only the first runs)';
  return concurrency > 1 ? `, ${concurrency} at once` : '';
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines, ''];
}
