import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { CreatedItem, FilingOutcome, WorkItemDraft, WorkOutcome, WorkPhase } from '../../../machines/index.ts';
import { messageOf } from '../../input/errors.ts';
import { listed } from '../../platform/text.ts';
import { type BacklogItem, folderOf, idOf, idPattern } from '../backlog/backlog.ts';
import { exactObject } from '../backlog/exact-json.ts';
import { foldersIn, remember, textToChange, writeAtomically } from '../backlog/files.ts';
import { layouts, restingFolders } from '../backlog/item-kinds.ts';
import { whileLocked } from '../backlog/lock.ts';
import { leftForReview } from '../backlog/reading/item-sources.ts';
import { checkInside } from '../backlog/reading/links.ts';
import { meaningOf } from '../backlog/reading/statuses.ts';
import { updateSummary } from '../backlog/summary/summary-file.ts';
import { addComment, changeReport } from '../backlog/work-items.ts';
import { autoCommit } from '../git/auto-commit.ts';
import type { Commit } from '../git/commits.ts';
import { capture } from './ending/capture.ts';

/**
 * Completes the item in `folder`: moves it to `completed/`, marks it, updates the summary and commits all that with the
 * files that the work changed. Repeating an interrupted call finishes it, even if the item is already in `completed/`. If
 * archiving fails, the item is where and as it was.
 */
export function archiveItem(backlog: string, folder: string, changed: readonly string[]): Promise<FilingOutcome> {
  return whileLocked(backlog, async () => {
    const id = idOf(basename(folder));
    // Its agent may have renamed it, or put it away.
    const place = existsSync(join(backlog, folder)) ? folder : (folderOf(backlog, id) ?? folder);
    const isResting = restingFolders.some((one) => place.startsWith(`${one}/`));
    const target = isResting ? place : `completed/${basename(place)}`;
    checkInside(backlog, 'completed');
    const isThere = place !== target && existsSync(join(backlog, place));
    const isAway = existsSync(join(backlog, target));
    if (isThere === isAway) {
      const message = isThere ? `${target} and ${place} both exist` : `${folder} is gone`;
      return { ok: false, message };
    }
    const reports = layouts.map(({ reportFile }) => `${target}/${reportFile}`);
    if (isThere) {
      mkdirSync(join(backlog, 'completed'), { recursive: true });
      renameSync(join(backlog, place), join(backlog, target));
    }
    const changes = [...reports, ...layouts.map(({ summaryFile }) => summaryFile)];
    let undo = () => {};
    let problem: string;
    try {
      undo = remember(changes.map((name) => join(backlog, name)));
      markCompleted(backlog, target);
      const layout =
        layouts.find(({ reportFile }) => existsSync(join(backlog, target, reportFile))) ??
        layouts.find((one) => folder.startsWith(`${one.folder}/`)) ??
        layouts.find(({ prefix }) => id.startsWith(`${prefix}-`));
      const isListed =
        layout !== undefined && updateSummary(backlog, layout, id, { status: 'completed', folder: target });
      const before = layout === undefined ? folder : `${layout.folder}/${basename(folder)}`;
      const paths = [...new Set([before, place, target, ...(isListed ? [layout.summaryFile] : []), ...changed])];
      const commit = await autoCommit(backlog, paths, `Complete ${id}`);
      if (commit === null || commit.ok) return { ok: true, created: [] };
      problem = `committed: ${commit.message}`;
    } catch (error) {
      problem = `archived: ${messageOf(error)}`;
    }
    // The item stays as and where it was, as the run says of it.
    const more: string[] = [];
    const putBack = async (step: () => void | Promise<void>, what: string) => {
      try {
        await step();
      } catch (error) {
        more.push(` ${what}: ${messageOf(error)}.`);
      }
    };
    await putBack(undo, 'Its report or the summary could not be restored');
    if (isThere)
      await putBack(() => renameSync(join(backlog, target), join(backlog, place)), `It is still in ${target}`);
    const left = changed.length === 0 ? '' : ` What was changed is left as it is: ${listed(changed)}.`;
    return { ok: false, message: `${id} is done, but could not be ${problem}.${left}${more.join('')}` };
  });
}

/** Marks an item that failed in several runs for review by a person (W-1). Runs skip it until its status is changed. */
export async function leaveForReview(
  backlog: string,
  item: BacklogItem,
  runs: readonly string[],
): Promise<Commit | null> {
  const { id, layout, folder } = item;
  return whileLocked(backlog, async () => {
    const status = leftForReview;
    changeReport(backlog, item, { status });
    const isListed = updateSummary(backlog, layout, id, { status });
    addComment(
      backlog,
      folder,
      `## Left for review\n\nIt failed in ${runs.length} runs: ${runs.join(', ')}. Set another status to have it tried again.`,
    );
    return autoCommit(backlog, [folder, ...(isListed ? [layout.summaryFile] : [])], `Leave ${id} for review`);
  });
}

/**
 * Adds what an agent did to the comments of its item. Every line is quoted, so that none of them counts as a STOP. With
 * `auto_commit`, the folder of an item that does not succeed is committed at once; others are with their archiving. Returns
 * why that failed, or null.
 */
export async function noteWork(
  backlog: string,
  folder: string,
  {
    run,
    phase,
    agent,
    verdict,
    message,
  }: Pick<WorkOutcome, 'agent' | 'verdict' | 'message'> & { run: string; phase: WorkPhase },
): Promise<string | null> {
  if (verdict === 'aborted' || verdict === 'unavailable' || !existsSync(join(backlog, folder))) return null;
  const quotedMessage = message.split('\n').map((line) => `> ${line}`.trimEnd());
  const text = [`## ${phase} by ${agent}: ${verdict} (run ${run})`, '', ...quotedMessage].join('\n');
  return whileLocked(backlog, async () => {
    addComment(backlog, folder, text);
    if (verdict === 'succeeded') return null;
    const commit = await autoCommit(backlog, [folder], `${idOf(basename(folder))}: ${verdict} in ${phase}`);
    return commit === null || commit.ok ? null : `What was done for ${folder} is not committed: ${commit.message}`;
  });
}

/**
 * Commits what a process that died had noted of an item, but not committed: in its folder, and in the summary. Returns why that
 * failed, or null.
 */
export async function commitNoted(backlog: string, id: string): Promise<string | null> {
  const folder = folderOf(backlog, id);
  if (folder === null) return null;
  const layout = layouts.find(({ prefix }) => id.startsWith(`${prefix}-`));
  const isListed = layout !== undefined && existsSync(join(backlog, layout.summaryFile));
  const paths = [folder, ...(isListed ? [layout.summaryFile] : [])];
  const commit = await whileLocked(backlog, () => autoCommit(backlog, paths, `${id}: what was noted before a crash`));
  return commit === null || commit.ok ? null : `What was noted of ${id} is not committed: ${commit.message}`;
}

/** Marks the report as completed. A broken report file is left unchanged, since the item's folder shows its state. */
function markCompleted(backlog: string, folder: string): void {
  for (const { reportFile } of layouts) {
    const path = join(backlog, folder, reportFile);
    const report = exactObject(textToChange(path));
    if (report === null || isMarked(report)) continue;
    const now = new Date().toISOString();
    const marked = { ...report, status: 'completed', completed_date: now, updated_date: now };
    writeAtomically(path, `${JSON.stringify(marked, null, 2)}\n`);
  }
}

function isMarked({ status, completed_date: date }: { status?: unknown; completed_date?: unknown }): boolean {
  return (
    typeof status === 'string' && meaningOf(status) === 'done' && date !== undefined && date !== null && date !== ''
  );
}

export type Blocked = { draft: WorkItemDraft; needs: string; run: string; id: string };

/** Files a human action (W-2) and marks the item as blocked by it; `item` is null if it cannot be read. */
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
    files: new Map(),
    again: `## Still needed by ${id}\n\nFound again in run ${run}.`,
  });
  if (item === null) {
    return {
      action,
      note: `${id} could not be read, so it is not marked as blocked by ${action.id}`,
      failure: problem,
    };
  }
  const { layout, report, folder } = item;
  const commit = await whileLocked(backlog, async () => {
    const waitsFor = [report.blocked_by ?? []].flat().filter((other) => other !== action.id);
    changeReport(backlog, item, { status: 'blocked', blocked_by: [...waitsFor, action.id] });
    const isListed = updateSummary(backlog, layout, id, { status: 'blocked' });
    addComment(backlog, folder, `## Set aside\n\nIt waits for ${action.id}, found in run ${run}.`);
    return autoCommit(backlog, [folder, ...(isListed ? [layout.summaryFile] : [])], `Set ${id} aside`);
  });
  return { action, note: null, failure: commit === null || commit.ok ? problem : (problem ?? commit.message) };
}

/** The ids of all items, open or not. */
export function allItemIds(backlog: string): string[] {
  return itemFolders(backlog).map(({ name }) => idOf(name));
}

/** Returns all items that were not there when the backlog held these ids, wherever they are now. */
export function createdSince(backlog: string, ids: readonly string[]): CreatedItem[] {
  const before = new Set(ids);
  return itemFolders(backlog).flatMap(({ place, name }) => {
    const id = idOf(name);
    if (before.has(id)) return [];
    const title = name.slice(id.length + 1).replaceAll('-', ' ');
    return [{ id, title, folder: `${place}/${name}`, isNew: true, why: 'created during the run' }];
  });
}

function itemFolders(backlog: string): { place: string; name: string }[] {
  return [...layouts.map(({ folder }) => folder), ...restingFolders].flatMap((place) =>
    foldersIn(join(backlog, place)).flatMap((name) => (idPattern.test(name) ? [{ place, name }] : [])),
  );
}
