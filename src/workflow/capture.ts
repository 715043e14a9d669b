import type { CreatedItem, WorkItemDraft } from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
import { type BacklogItem, readBacklog } from './backlog.ts';
import { readConfig } from './config.ts';
import { type Commit, commitPaths } from './git.ts';
import { whileLocked } from './lock.ts';
import { addComment, changeReport, checkedItem, writeWorkItem } from './work-items.ts';

export type Capture = {
  draft: WorkItemDraft;
  /** The same for what happens again in the same way. */
  fingerprint: string;
  run: string;
  why: string;
  /** PROMPT.md; null for the usual one. */
  prompt: ((id: string) => string) | null;
  /** What an item that is there already gets as a comment. */
  again: string;
};

export type Captured = { item: CreatedItem; problem: string | null };

/**
 * Makes a work item, unless an open one has the same fingerprint: that one gets the new evidence, once for each run. So a
 * capture that was cut short can be done again (W-2).
 */
export async function capture(backlog: string, capturing: Capture): Promise<Captured> {
  const { draft, fingerprint, run, why, prompt } = capturing;
  const known = readBacklog(backlog).items.find(({ report }) => report.fingerprint === fingerprint);
  if (known !== undefined) return addEvidence(backlog, known, capturing);
  const item = checkedItem({ ...draft, auto_commit: readConfig(backlog).auto_commit });
  const { id, title, folder, commit } = await writeWorkItem(backlog, item, {
    extra: { fingerprint, runs: [run] },
    prompt,
  });
  return {
    item: { id: id ?? '', title, folder: folder ?? '', isNew: true, why },
    problem: gitProblem(id ?? '', commit),
  };
}

async function addEvidence(
  backlog: string,
  known: BacklogItem,
  { draft, run, why, again }: Capture,
): Promise<Captured> {
  const { id, title, folder, report } = known;
  const runs = [report.runs ?? []].flat();
  const isNew = report.runs !== undefined && runs[0] === run;
  if (runs.includes(run)) return { item: { id, title, folder, isNew, why }, problem: null };
  const evidence = [...[report.evidence ?? []].flat(), ...draft.evidence];
  const commit = await whileLocked(backlog, async () => {
    addComment(backlog, folder, again);
    changeReport(backlog, known, { evidence, runs: [...runs, run] });
    return readConfig(backlog).auto_commit ? commitPaths(backlog, [folder], `${id}: seen again in ${run}`) : null;
  });
  return { item: { id, title, folder, isNew: false, why }, problem: gitProblem(id, commit) };
}

function gitProblem(id: string, commit: Commit | null): string | null {
  return commit === null || commit.ok ? null : `${id} is written and not committed: ${commit.message}`;
}

/** The words for what could not be written: all of it, so that nothing is lost (W-3). */
export function lost(what: string, error: unknown, text: string): string {
  return `${what} could not be written: ${messageOf(error)}. It says:\n\n${text}`;
}
