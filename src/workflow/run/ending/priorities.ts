import { join } from 'node:path';
import { type PriorityChange, priorities } from '../../../../machines/index.ts';
import { expected, messageOf } from '../../../input/errors.ts';
import { plainId, readBacklog } from '../../backlog/backlog.ts';
import { textToChange, writeAtomically } from '../../backlog/files.ts';
import { whileLocked } from '../../backlog/lock.ts';
import { lastObject } from '../../backlog/reading/last-object.ts';
import { withPriority } from '../../backlog/reading/prompt-file.ts';
import { updateSummary } from '../../backlog/summary-file.ts';
import { addComment, changeReport } from '../../backlog/work-items.ts';
import { autoCommit } from '../../git/auto-commit.ts';
import { asObject } from '../verdict.ts';

/** The findings of a retrospective in words, and its unchecked priorities. */
export type Findings = { words: string; priorities: readonly unknown[] };

const wordFields = ['findings', 'text', 'summary', 'retrospective', 'words'];

/** Parses a retrospective: an object, or a text whose last JSON object may contain the priorities. */
export function findingsIn(said: object | string): Findings {
  const fields = (typeof said === 'string' ? lastObject(said) : asObject(said)) ?? {};
  const wanted = fields.priorities;
  const list = Array.isArray(wanted)
    ? wanted
    : Object.entries(asObject(wanted) ?? {}).map(([id, priority]) => ({ id, priority }));
  if (typeof said === 'string') {
    // The object may be truncated, or longer than the part of the text that is searched.
    const isLost = wanted === undefined && /"priorities"\s*:/.test(said);
    return { words: said, priorities: isLost ? ['no JSON object at the end'] : list };
  }
  const words = wordFields.map((name) => fields[name]).find((one) => typeof one === 'string' && one.trim() !== '');
  return { words: typeof words === 'string' ? words : fenced(said), priorities: list };
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
