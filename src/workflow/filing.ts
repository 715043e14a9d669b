import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { CreatedItem, FilingOutcome, WorkItemDraft } from '../../machines/index.ts';
import { type BacklogItem, idOf, numberOf } from './backlog.ts';
import { capture } from './capture.ts';
import { readConfig } from './config.ts';
import { foldersIn, readIfThere, writeAtomically } from './files.ts';
import { commitPaths } from './git.ts';
import { type KindLayout, layouts, restingFolders } from './item-kinds.ts';
import { whileLocked } from './lock.ts';
import { updateSummary } from './summary-file.ts';
import { addComment, changeReport, highestNumber } from './work-items.ts';

/**
 * Puts the item in `folder` away: moved, marked, noted in the summary, committed. What was cut short is done to its end by
 * doing it again, also for an item that lies in `completed/` by then.
 */
export function archiveItem(backlog: string, folder: string): Promise<FilingOutcome> {
  return whileLocked(backlog, async () => {
    const target = `completed/${basename(folder)}`;
    const isThere = folder !== target && existsSync(join(backlog, folder));
    const isAway = existsSync(join(backlog, target));
    if (isThere === isAway) {
      const message = isThere ? `${target} is there already, and ${folder} too` : `${folder} is gone`;
      return { ok: false, message };
    }
    if (isThere) {
      mkdirSync(join(backlog, 'completed'), { recursive: true });
      renameSync(join(backlog, folder), join(backlog, target));
    }
    const id = idOf(basename(folder));
    markCompleted(backlog, target);
    const layout = layouts.find(({ reportFile }) => existsSync(join(backlog, target, reportFile)));
    const listed = layout !== undefined && updateSummary(backlog, layout, id, { status: 'completed', folder: target });
    if (!readConfig(backlog).auto_commit) return { ok: true, created: [] };
    const before = layout === undefined ? folder : `${layout.folder}/${basename(folder)}`;
    const paths = [before, target, ...(listed ? [layout.summaryFile] : [])];
    const commit = await commitPaths(backlog, paths, `Complete ${id}`);
    return commit.ok ? { ok: true, created: [] } : commit;
  });
}

/** A report file that an agent has broken stays as it is: where the item lies says enough. */
function markCompleted(backlog: string, folder: string): void {
  for (const { reportFile } of layouts) {
    const path = join(backlog, folder, reportFile);
    const report = parsed(readIfThere(path));
    if (report === null || 'completed_date' in report) continue;
    const now = new Date().toISOString();
    const marked = { ...report, status: 'completed', completed_date: now, updated_date: now };
    writeAtomically(path, `${JSON.stringify(marked, null, 2)}\n`);
  }
}

function parsed(text: string | null): object | null {
  try {
    const value: unknown = JSON.parse(text ?? 'null');
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

export type Blocked = { draft: WorkItemDraft; needs: string; run: string; id: string };

/** Writes down what a person has to do (W-2), and marks the item as waiting for it; `item` is null where it cannot be read. */
export async function setItemAside(
  backlog: string,
  item: BacklogItem | null,
  { draft, needs, run, id }: Blocked,
): Promise<{ action: CreatedItem; note: string | null; failure: string | null }> {
  const { item: action, problem } = await capture(backlog, {
    draft,
    fingerprint: `blocked ${id} ${needs}`,
    run,
    why: `${id} is blocked`,
    prompt: null,
    again: `## Still needed by ${id}\n\nFound again in the run ${run}.`,
  });
  if (item === null) {
    return {
      action,
      note: `${id} could not be read, so it is not marked as waiting for ${action.id}`,
      failure: problem,
    };
  }
  const { layout, report, folder } = item;
  const commit = await whileLocked(backlog, async () => {
    const waitsFor = [report.blocked_by ?? []].flat().filter((other) => other !== action.id);
    changeReport(backlog, item, { status: 'blocked', blocked_by: [...waitsFor, action.id] });
    const listed = updateSummary(backlog, layout, id, { status: 'blocked' });
    addComment(backlog, folder, `## Set aside\n\nIt waits for ${action.id}, found in the run ${run}.`);
    if (!readConfig(backlog).auto_commit) return null;
    return commitPaths(backlog, [folder, ...(listed ? [layout.summaryFile] : [])], `Set ${id} aside`);
  });
  return { action, note: null, failure: commit === null || commit.ok ? problem : (problem ?? commit.message) };
}

/** The highest number of each kind: what is above them later was created since. */
export type Marks = Record<string, number>;

export function marksOf(backlog: string): Marks {
  return Object.fromEntries(layouts.map(({ folder, prefix }) => [prefix, highestNumber(backlog, folder, prefix)]));
}

/** Items that came into being since `marks`, whoever made them and wherever they are. */
export function createdSince(backlog: string, marks: Marks): CreatedItem[] {
  return layouts.flatMap((layout) =>
    [layout.folder, ...restingFolders].flatMap((place) =>
      foldersIn(join(backlog, place)).flatMap((name) => appeared(layout, place, name, marks)),
    ),
  );
}

function appeared({ prefix }: KindLayout, place: string, name: string, marks: Marks): CreatedItem[] {
  const id = idOf(name);
  if (!id.startsWith(`${prefix}-`) || numberOf(id) <= (marks[prefix] ?? Number.POSITIVE_INFINITY)) return [];
  const title = name.slice(id.length + 1).replaceAll('-', ' ');
  return [{ id, title, folder: `${place}/${name}`, isNew: true, why: 'created while the run was at work' }];
}
