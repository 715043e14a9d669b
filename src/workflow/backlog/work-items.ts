import { appendFileSync, realpathSync, rmSync } from 'node:fs';
import { join, sep } from 'node:path';
import { check } from '../../input/check.ts';
import { messageOf, PawlError } from '../../input/errors.ts';
import { type Commit, commitPaths } from '../git/commits.ts';
import { type BacklogItem, backlogFolder, idOf, numberOf, readBacklog } from './backlog.ts';
import { readConfig } from './config.ts';
import { exactObject } from './exact-json.ts';
import { foldersIn, readIfThere, textToChange, writeAtomically, writeFolder } from './files.ts';
import { actionFields, type Duplicate, itemFiles, type NewItemFacts } from './item-files.ts';
import { type KindLayout, layoutOf, restingFolders } from './item-kinds.ts';
import { whileLocked } from './lock.ts';
import { checkInside } from './reading/links.ts';
import { similarity } from './similarity.ts';
import { addToSummary, type SummaryRow, summaryRows } from './summary/summary-file.ts';
import { type WorkItem, type WorkItemInput, workItemSchema } from './work-item-input.ts';

export type WorkItemResult = {
  /** False if similar items are open and `on_duplicate` is `refuse`; then nothing was written. */
  created: boolean;
  /** The id, such as `BUG-008`; null if the item was refused. */
  id: string | null;
  title: string;
  /** The item's folder below the backlog; null if the item was refused. */
  folder: string | null;
  /** Similar items, open and resolved, most similar first. */
  duplicates: Duplicate[];
  /** Null if no commit was requested. A failed commit does not undo the item. */
  commit: Commit | null;
};

/**
 * Creates a backlog work item: assigns the next id, writes all of its files or none, and adds its line to the
 * summary of its kind. Safe to call concurrently, in this process and in others. Rejects with `PawlError`:
 * `invalid_work_item` before anything is written, `backlog_failed` if the file system fails.
 */
export async function createWorkItem(backlog: string, input: WorkItemInput): Promise<WorkItemResult> {
  return writeWorkItem(mainBacklog(backlogFolder(backlog)), checkedItem(input), {
    extra: {},
    files: new Map(),
    prompt: null,
  });
}

export function checkedItem(input: unknown): WorkItem {
  const item = check(workItemSchema, input, '', 'invalid_work_item', 'item');
  if (item.branch_name !== undefined && !item.auto_commit) {
    throw new PawlError(
      'invalid_work_item',
      `branch_name requires auto_commit: true; got branch_name ${item.branch_name}.`,
    );
  }
  return item;
}

type OwnFacts = {
  extra: NewItemFacts['extra'];
  files: NewItemFacts['files'];
  /** Builds the text of PROMPT.md once the id is known; null for the default text. */
  prompt: ((id: string) => string) | null;
};

/** Creates a validated item, with any facts a run adds. */
export async function writeWorkItem(backlog: string, item: WorkItem, facts: OwnFacts): Promise<WorkItemResult> {
  try {
    return await whileLocked(backlog, () => writeAlone(backlog, item, facts));
  } catch (error) {
    if (error instanceof PawlError) throw error;
    const message = `${item.title} could not be written: ${messageOf(error)}`;
    throw new PawlError('backlog_failed', message, { cause: error });
  }
}

async function writeAlone(
  backlog: string,
  item: WorkItem,
  { extra, files, prompt }: OwnFacts,
): Promise<WorkItemResult> {
  const { duplicate_threshold: threshold } = readConfig(backlog);
  const { title, component, priority } = item;
  const duplicates = similarItems(backlog, item, threshold);
  if (duplicates.some(({ isOpen }) => isOpen) && item.on_duplicate === 'refuse') {
    return { created: false, id: null, title, folder: null, duplicates, commit: null };
  }
  const layout = layoutOf(item.item_type);
  const id = nextId(backlog, layout);
  const folder = `${layout.folder}/${[id, slugOf(title)].filter((part) => part !== '').join('-')}`;
  const createdAt = new Date().toISOString();
  const facts = { id, createdAt, duplicates, extra, files, prompt: prompt === null ? null : prompt(id) };
  writeFolder(join(backlog, folder), itemFiles(layout, item, facts));
  try {
    addToSummary(backlog, layout, { id, title, priority, component, folder, ...summaryFieldsOf(item) });
  } catch (error) {
    rmSync(join(backlog, folder), { recursive: true, force: true });
    throw error;
  }
  const commit = item.auto_commit
    ? await commitPaths(backlog, [folder, layout.summaryFile], `Add ${id}: ${title}`, item.branch_name ?? null)
    : null;
  return { created: true, id, title, folder, duplicates, commit };
}

/** What the summary says of a new item beside what all items have. */
function summaryFieldsOf(item: WorkItem): Pick<SummaryRow, 'status' | 'urgency' | 'blocking'> {
  if (item.item_type !== 'human_action') return { status: 'new' };
  const { urgency, blocking_items: blocking } = actionFields(item);
  return { status: 'pending', urgency, blocking: blocking.join(', ') };
}

/** Compares an item with all of its kind: open and resolved ones, and those that only their folders tell of. */
function similarItems(backlog: string, item: WorkItem, threshold: number): Duplicate[] {
  const layout = layoutOf(item.item_type);
  const { items, done, unreadable } = readBacklog(backlog);
  const compared = (isOpen: boolean) => (other: BacklogItem) => {
    const { id, title, folder } = other;
    return other.layout === layout ? [{ id, title, folder, isOpen, similarity: similarity(item, other) }] : [];
  };
  const named = (isOpen: boolean) => (folder: string) => {
    const name = folder.slice(folder.lastIndexOf('/') + 1);
    const id = idOf(name);
    const title = name.slice(id.length + 1).replaceAll('-', ' ');
    if (!id.startsWith(`${layout.prefix}-`) || title === '') return [];
    const own = { title: slugOf(item.title).replaceAll('-', ' '), description: '' };
    return [{ id, title, folder, isOpen, similarity: similarity(own, { title, description: '' }) }];
  };
  const resting = restingFolders.flatMap((place) => foldersIn(join(backlog, place)).map((name) => `${place}/${name}`));
  return [
    ...items.flatMap(compared(true)),
    ...done.flatMap(compared(false)),
    ...unreadable.flatMap(({ folder }) => named(true)(folder)),
    ...resting.flatMap(named(false)),
  ]
    .filter((duplicate) => duplicate.similarity >= threshold)
    .toSorted((one, other) => other.similarity - one.similarity);
}

/** Returns the next id: one above the highest ever used, wherever that item is now, also if only the summary knows it. */
function nextId(backlog: string, layout: KindLayout): string {
  const { folder, prefix } = layout;
  const listed = [...summaryRows(backlog, layout).keys()].filter((id) => id.startsWith(`${prefix}-`));
  const highest = Math.max(
    highestNumber(backlog, folder, prefix),
    ...listed.map(numberOf).filter(Number.isSafeInteger),
  );
  return `${prefix}-${String(highest + 1).padStart(3, '0')}`;
}

export function highestNumber(backlog: string, folder: string, prefix: string): number {
  const names = [folder, ...restingFolders].flatMap((place) => foldersIn(join(backlog, place)));
  const ids = names.map(idOf).filter((id) => id.startsWith(`${prefix}-`));
  // Unsafe integers are ignored: they cannot be incremented, so Pawl did not assign them.
  return Math.max(0, ...ids.map(numberOf).filter(Number.isSafeInteger));
}

const slugLength = 40;

function slugOf(title: string): string {
  const words = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  let slug = '';
  for (const word of words ?? []) {
    const longer = slug === '' ? word : `${slug}-${word}`;
    if (longer.length > slugLength) break;
    slug = longer;
  }
  return slug === '' ? (words?.[0] ?? '').slice(0, slugLength) : slug;
}

/** Changes fields of an item's report file and keeps the others. */
export function changeReport(backlog: string, item: BacklogItem, change: Record<string, unknown>): void {
  const path = join(backlog, item.folder, item.layout.reportFile);
  const text = readIfThere(path);
  if (text !== null && textToChange(path) === null) throw new Error(`${path} is not UTF-8, so it is not changed`);
  const report = { ...(exactObject(text) ?? item.report), ...change, updated_date: new Date().toISOString() };
  writeAtomically(path, `${JSON.stringify(report, null, 2)}\n`);
}

/** Appends text to the comments of an item, separated by a blank line from any earlier text. */
export function addComment(backlog: string, folder: string, text: string): void {
  checkInside(backlog, `${folder}/comments.md`);
  const path = join(backlog, folder, 'comments.md');
  const before = readIfThere(path) ?? '';
  const gap = before === '' || before.endsWith('\n\n') ? '' : before.endsWith('\n') ? '\n' : '\n\n';
  appendFileSync(path, `${gap}${text.trim()}\n`);
}

/** Returns the backlog of a run for a copy in the work tree of an item, where another item would get the same number. */
function mainBacklog(backlog: string): string {
  const parts = realpathSync(backlog).split(sep);
  const at = parts.lastIndexOf('agent_runs');
  return at > 0 && parts[at + 1] === 'worktrees' && parts.length > at + 2 ? parts.slice(0, at).join(sep) : backlog;
}
