import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { CreatedItem, FilingOutcome, WorkItemDraft } from '../../machines/index.ts';
import { type BacklogItem, idOf, numberOf } from './backlog.ts';
import { type Captured, capture } from './capture.ts';
import { readConfig } from './config.ts';
import { foldersIn } from './files.ts';
import { commitPaths } from './git.ts';
import { layouts } from './item-kinds.ts';
import { updateSummary } from './summary-file.ts';
import { addComment, changeReport, highestNumber } from './work-items.ts';

/** Puts an item that is done away. It is marked first, so that one that was cut short is not taken again. */
export async function archiveItem(backlog: string, item: BacklogItem): Promise<FilingOutcome> {
  const { id, title, folder, layout } = item;
  const target = `completed/${basename(folder)}`;
  if (existsSync(join(backlog, target))) return { ok: false, message: `${target} is there already, and ${folder} too` };
  changeReport(backlog, item, { status: 'completed', completed_date: new Date().toISOString() });
  mkdirSync(join(backlog, 'completed'), { recursive: true });
  renameSync(join(backlog, folder), join(backlog, target));
  const listed = updateSummary(backlog, layout, id, { status: 'completed', folder: target });
  if (!readConfig(backlog).auto_commit) return { ok: true, created: [] };
  const paths = [folder, target, ...(listed ? [layout.summaryFile] : [])];
  const commit = await commitPaths(backlog, paths, `Complete ${id}: ${title}`);
  return commit.ok ? { ok: true, created: [] } : commit;
}

/** Marks an item as waiting for a human action, which is written first (W-2). */
export async function setItemAside(
  backlog: string,
  item: BacklogItem,
  { draft, needs, run }: { draft: WorkItemDraft; needs: string; run: string },
): Promise<FilingOutcome> {
  const { id, layout, report, status, folder } = item;
  const { item: action, problem }: Captured = await capture(backlog, {
    draft,
    fingerprint: `blocked ${id} ${needs}`,
    run,
    why: `${id} is blocked`,
    prompt: null,
    again: `## Still needed by ${id}\n\nFound again in the run ${run}.`,
  });
  const waitsFor = [report.blocked_by ?? []].flat().filter((other) => other !== action.id);
  changeReport(backlog, item, { status: 'blocked', blocked_by: [...waitsFor, action.id], status_before: status });
  updateSummary(backlog, layout, id, { status: 'blocked' });
  addComment(backlog, folder, `## Set aside\n\nIt waits for ${action.id}, found in the run ${run}.`);
  return problem === null ? { ok: true, created: [action] } : { ok: false, message: problem };
}

/** The highest number of each kind: what is above them later was created since. */
export type Marks = Record<string, number>;

export function marksOf(backlog: string): Marks {
  return Object.fromEntries(layouts.map(({ folder, prefix }) => [prefix, highestNumber(backlog, folder, prefix)]));
}

/** Items that came into being since `marks`, whoever made them. */
export function createdSince(backlog: string, marks: Marks, known: readonly CreatedItem[]): CreatedItem[] {
  const ids = new Set(known.map(({ id }) => id));
  return layouts.flatMap(({ folder, prefix }) =>
    foldersIn(join(backlog, folder)).flatMap((name) => {
      const id = idOf(name);
      if (!id.startsWith(`${prefix}-`) || numberOf(id) <= (marks[prefix] ?? 0) || ids.has(id)) return [];
      const title = name.slice(id.length + 1).replaceAll('-', ' ');
      return [{ id, title, folder: `${folder}/${name}`, isNew: true, why: 'created by an agent of the run' }];
    }),
  );
}
