import { join } from 'node:path';
import { type PriorityChange, priorities } from '../../../../machines/index.ts';
import { expected, messageOf } from '../../../input/errors.ts';
import { plainId, readBacklog } from '../../backlog/backlog.ts';
import { textToChange, writeAtomically } from '../../backlog/files.ts';
import { whileLocked } from '../../backlog/lock.ts';
import { withPriority } from '../../backlog/reading/prompt-file.ts';
import { updateSummary } from '../../backlog/summary/summary-file.ts';
import { addComment, changeReport } from '../../backlog/work-items.ts';
import { autoCommit } from '../../git/auto-commit.ts';
import { asObject, statedIn } from '../stated.ts';

/** The findings of a retrospective in words, and its unchecked priorities. */
export type Findings = { words: string; priorities: readonly unknown[] };

/** Reads a retrospective: its `text` and its `priorities`, if it is an object; a text is only words. */
export function findingsIn(report: object | string): Findings {
  const { text, priorities: wanted } = statedIn(report) ?? {};
  const words = typeof text === 'string' && text.trim() !== '' ? text : null;
  return {
    words: words ?? (typeof report === 'string' ? report : fenced(report)),
    priorities: Array.isArray(wanted) ? wanted : wanted == null ? [] : [wanted],
  };
}

function fenced(value: object): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

/** Applies the priorities of a retrospective to open items. Entries that cannot be applied become problems. */
export async function prioritize(
  backlog: string,
  wanted: readonly unknown[],
  run: string,
): Promise<{ priorities: PriorityChange[]; problems: string[] }> {
  const outcome: { priorities: PriorityChange[]; problems: string[] } = { priorities: [], problems: [] };
  for (const one of wanted) {
    const { id, priority, reason } = asObject(one) ?? {};
    const to = priorities.find((known) => known === String(priority).toUpperCase());
    if (typeof id !== 'string' || to === undefined) {
      const shape = `{ id: the id of an item, priority: ${priorities.join(', ')} }`;
      outcome.problems.push(`The retrospective set no priority: ${expected('priorities', one, shape)}`);
      continue;
    }
    const why = typeof reason === 'string' ? reason : '';
    const set = await whileLocked(backlog, () => setPriority(backlog, { id, to, reason: why, run })).catch(
      (error) => `The priority of ${id} could not be set to ${to}: ${messageOf(error)}`,
    );
    if (typeof set === 'string') outcome.problems.push(set);
    else if (set !== null) {
      outcome.priorities.push(set.change);
      if (set.problem !== null) outcome.problems.push(set.problem);
    }
  }
  return outcome;
}

/** Changes the priority of an item in all its files. Returns an error message if it cannot, or null if nothing changes. */
async function setPriority(
  backlog: string,
  { id, to, reason, run }: Omit<PriorityChange, 'from'> & { run: string },
): Promise<{ change: PriorityChange; problem: string | null } | string | null> {
  const item = readBacklog(backlog).items.find((one) => plainId(one.id) === plainId(id));
  if (item === undefined) return `The retrospective set the priority of ${id}, which is not an open item.`;
  const { layout, folder, priority: from } = item;
  if (from === to) return null;
  let stands = false;
  for (const name of new Set([layout.promptFile, 'PROMPT.md'])) {
    const path = join(backlog, folder, name);
    const text = textToChange(path);
    if (text === null || withPriority(text, to) === text) continue;
    writeAtomically(path, withPriority(text, to));
    stands = true;
  }
  // An item that consists only of a PROMPT.md does not get a report file.
  if (!stands || Object.keys(item.report).length > 0) changeReport(backlog, item, { priority: to });
  const listed = updateSummary(backlog, layout, item.id, { priority: to });
  const because = reason === '' ? '' : `\n\n${reason.replaceAll(/^/gm, '> ')}`;
  addComment(backlog, folder, `## ${to} instead of ${from}\n\nBy the retrospective of run ${run}.${because}`);
  const change = { id: item.id, from, to, reason };
  const paths = [folder, ...(listed ? [layout.summaryFile] : [])];
  const commit = await autoCommit(backlog, paths, `${item.id}: ${to} instead of ${from}`);
  return {
    change,
    problem: commit === null || commit.ok ? null : `The priority of ${item.id} is not committed: ${commit.message}`,
  };
}
