import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ItemRef, itemKinds, type Priority, priorities, type StopMarker } from '../../../machines/index.ts';
import { expected, messageOf, PawlError, shown } from '../../errors.ts';
import { foldersIn, readIfThere } from './files.ts';
import { type KindLayout, layouts, restingFolders } from './item-kinds.ts';
import { stopRequestIn } from './stop-marker.ts';

/** An item as read from the disk. */
export type BacklogItem = ItemRef & {
  status: string | null;
  description: string;
  /** The text of its `comments.md`. */
  comments: string;
  /** All fields of the report file, known or not. */
  report: Record<string, unknown>;
  layout: KindLayout;
};

export type Backlog = {
  /** Open items, in processing order. */
  items: BacklogItem[];
  /** Items in the open folders whose status marks them as done. */
  done: BacklogItem[];
  /** Folders that cannot be read as items; they are left unchanged. */
  unreadable: { folder: string; problem: string }[];
};

/** Returns the absolute path of a backlog folder. Throws `invalid_backlog` if it is not a folder. */
export function backlogFolder(backlog: unknown): string {
  if (typeof backlog === 'string' && backlog.trim() !== '') {
    const path = resolve(backlog);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true) return path;
    const problem = found === undefined ? 'it does not exist' : 'it is not a folder';
    throw new PawlError('invalid_backlog', `Backlog folder not found: ${shown(backlog)} (${problem}).`);
  }
  throw new PawlError('invalid_backlog', expected('backlog', backlog, 'the path of a folder'));
}

const idPattern = /^([A-Z]+)-(\d+)/i;

/** Reads the items of a backlog. Unknown files and fields are left unchanged. */
export function readBacklog(backlog: string): Backlog {
  const items: BacklogItem[] = [];
  const done: BacklogItem[] = [];
  const unreadable: Backlog['unreadable'] = [];
  const resting = new Map(
    restingFolders.flatMap((place) =>
      foldersIn(join(backlog, place)).map((name) => [idOf(name), `${place}/${name}`] as const),
    ),
  );
  for (const layout of layouts) {
    for (const name of foldersIn(join(backlog, layout.folder))) {
      if (!idPattern.test(name)) continue;
      const folder = `${layout.folder}/${name}`;
      try {
        const item = readItem(backlog, layout, name);
        const twin = [...items, ...done].find(({ id }) => id === item.id)?.folder ?? resting.get(item.id);
        if (twin !== undefined) unreadable.push({ folder, problem: `${twin} shares the id ${item.id}` });
        else if (isDone(item)) done.push(item);
        else items.push(item);
      } catch (error) {
        unreadable.push({ folder, problem: messageOf(error) });
      }
    }
  }
  const finished = new Set([...resting.keys(), ...done.map(({ id }) => id)].map(plainId));
  for (const item of items) item.blocked = isBlocked(item, (id) => !finished.has(plainId(id)));
  return { items: items.toSorted(byUrgency), done, unreadable };
}

/** Returns the id at the start of a folder name: `BUG-007-short-slug` -> `BUG-007`. */
export function idOf(folderName: string): string {
  return (idPattern.exec(folderName)?.[0] ?? folderName).toUpperCase();
}

function readItem(backlog: string, layout: KindLayout, name: string): BacklogItem {
  const folder = `${layout.folder}/${name}`;
  const text = readIfThere(join(backlog, folder, layout.reportFile));
  if (text === null) throw new Error(`${layout.reportFile} is missing`);
  const report: unknown = parsed(text, layout.reportFile);
  if (typeof report !== 'object' || report === null || Array.isArray(report)) {
    throw new Error(expected(layout.reportFile, report, 'a JSON object'));
  }
  const fields: Record<string, unknown> = { ...report };
  const said = (...names: string[]) =>
    names.map((field) => text_(fields[field])).find((value) => value !== null) ?? null;
  return {
    id: idOf(name),
    kind: layout.kind,
    title: said('title', 'name', 'summary') ?? name,
    priority: priorityOf(fields.priority),
    component: said('component'),
    createdAt: said('created_date', 'created_at', 'created', 'reported_date', 'date'),
    blocked: false,
    folder,
    status: said('status'),
    description: said('description') ?? '',
    comments: readIfThere(join(backlog, folder, 'comments.md')) ?? '',
    report: fields,
    layout,
  };
}

function parsed(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not JSON: ${messageOf(error)}`);
  }
}

function text_(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

const words: Record<string, Priority> = { critical: 'P0', urgent: 'P0', high: 'P1', medium: 'P2', low: 'P3' };

/** Reads a priority; a missing or unknown one counts as P3. */
function priorityOf(value: unknown): Priority {
  const said = (text_(value) ?? '').toLowerCase();
  return priorities.find((priority) => said.startsWith(priority.toLowerCase())) ?? words[said] ?? 'P3';
}

function isDone({ status }: BacklogItem): boolean {
  return /^(completed?|resolved|closed|done|fixed|deprecated|wont_?fix)$/i.test(status ?? '');
}

/**
 * Whether an item is blocked. If `blocked_by` names another item, it is blocked until that item is done; if it holds
 * free text, until the text is removed. Otherwise its `status` and its `blocked` field decide.
 */
function isBlocked({ report, status }: BacklogItem, isOpen: (id: string) => boolean): boolean {
  const waitsFor = [report.blocked_by ?? []].flat().flatMap((names) => String(names).split(','));
  const named = waitsFor.map((name) => name.trim()).filter((name) => name !== '');
  if (named.length > 0) return named.some(isOpen);
  return status?.toLowerCase() === 'blocked' || report.blocked === true;
}

/** Normalizes an id: `BUG-007`, `bug-7` and `BUG-7` are the same item. */
function plainId(id: string): string {
  const [, prefix, number] = idPattern.exec(id) ?? [];
  return prefix === undefined ? id.toUpperCase() : `${prefix.toUpperCase()}-${Number(number)}`;
}

/** Compares by urgency: P0 before P3, bugs before features before human actions, oldest first. */
export function byUrgency(one: ItemRef, other: ItemRef): number {
  return (
    priorities.indexOf(one.priority) - priorities.indexOf(other.priority) ||
    itemKinds.indexOf(one.kind) - itemKinds.indexOf(other.kind) ||
    age(one) - age(other) ||
    numberOf(one.id) - numberOf(other.id)
  );
}

/** Returns the creation time in epoch ms. An item without a readable date counts as the newest. */
function age({ createdAt }: ItemRef): number {
  const at = Date.parse(createdAt ?? '');
  return Number.isNaN(at) ? Number.MAX_SAFE_INTEGER : at;
}

export function numberOf(id: string): number {
  return Number(idPattern.exec(id)?.[2] ?? 0);
}

/** Returns the fields of an item for the machine. */
export function refOf({ id, kind, title, priority, component, createdAt, blocked, folder }: BacklogItem): ItemRef {
  return { id, kind, title, priority, component, createdAt, blocked, folder };
}

/** Finds every STOP in the comments of the items, the run and the backlog. */
export function stopMarkers(backlog: string, run: string, items: readonly BacklogItem[]): StopMarker[] {
  const own = ['comments.md', `agent_runs/${run}/comments.md`].map((file) => {
    return { file, item: null, component: null, text: readIfThere(join(backlog, file)) ?? '' };
  });
  const ofItems = items.map(({ id, folder, component, comments }) => {
    return { file: `${folder}/comments.md`, item: id, component, text: comments };
  });
  return [...own, ...ofItems].flatMap(({ file, item, component, text }) => {
    const found = stopRequestIn(text);
    return found === null ? [] : [{ file, item, request: found.request, component: found.component ?? component }];
  });
}

/** Returns the folder of an open or finished item, relative to the backlog; null if the item does not exist. */
export function folderOf(backlog: string, id: string): string | null {
  const places = [...layouts.map(({ folder }) => folder), ...restingFolders];
  const folders = places.flatMap((place) => foldersIn(join(backlog, place)).map((name) => ({ place, name })));
  const found = folders.find(({ name }) => idOf(name) === id);
  return found === undefined ? null : `${found.place}/${found.name}`;
}
