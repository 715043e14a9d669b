import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ItemRef, itemKinds, type Priority, priorities, type StopMarker } from '../../machines/index.ts';
import { messageOf, PawlError, shown } from '../errors.ts';
import { foldersIn, readIfThere } from './files.ts';
import { type KindLayout, layouts, restingFolders } from './item-kinds.ts';
import { stopRequestIn } from './stop-marker.ts';

/** An item as it is on the disk. */
export type BacklogItem = ItemRef & {
  status: string | null;
  description: string;
  /** What stands in its `comments.md`. */
  comments: string;
  /** The report file, with all its fields, known or not. */
  report: Record<string, unknown>;
  layout: KindLayout;
};

export type Backlog = {
  /** Open items, in the order in which they are to be taken. */
  items: BacklogItem[];
  /** Items among the open ones whose status says that they are done. */
  done: BacklogItem[];
  /** What is there and cannot be read as an item; it is left alone. */
  unreadable: { folder: string; problem: string }[];
};

/** The folder of a backlog as an absolute path. Throws `invalid_backlog`. */
export function backlogFolder(backlog: unknown): string {
  if (typeof backlog === 'string' && backlog.trim() !== '') {
    const path = resolve(backlog);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true) return path;
    const problem = found === undefined ? 'there is nothing' : 'it is no folder';
    throw new PawlError(
      'invalid_backlog',
      `backlog is ${shown(backlog)}, and ${problem}: the path of a folder is allowed.`,
    );
  }
  throw new PawlError('invalid_backlog', `backlog is ${shown(backlog)}: the path of a folder is allowed.`);
}

const idPattern = /^([A-Z]+)-(\d+)/i;

/** The open items of a backlog; files and fields that are not known are left alone. */
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
        if (twin !== undefined) unreadable.push({ folder, problem: `${item.id} is the id of ${twin} too` });
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

/** `BUG-007-short-slug` -> `BUG-007`. */
export function idOf(folderName: string): string {
  return (idPattern.exec(folderName)?.[0] ?? folderName).toUpperCase();
}

function readItem(backlog: string, layout: KindLayout, name: string): BacklogItem {
  const folder = `${layout.folder}/${name}`;
  const text = readIfThere(join(backlog, folder, layout.reportFile));
  if (text === null) throw new Error(`${layout.reportFile} is missing`);
  const report: unknown = parsed(text, layout.reportFile);
  if (typeof report !== 'object' || report === null || Array.isArray(report)) {
    throw new Error(`${layout.reportFile} is ${shown(report)}: an object is needed`);
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

/** What says no priority is the least urgent. */
function priorityOf(value: unknown): Priority {
  const said = (text_(value) ?? '').toLowerCase();
  return priorities.find((priority) => said.startsWith(priority.toLowerCase())) ?? words[said] ?? 'P3';
}

function isDone({ status }: BacklogItem): boolean {
  return /^(completed?|resolved|closed|done|fixed|deprecated|wont_?fix)$/i.test(status ?? '');
}

/**
 * By what it waits for, where it says so: another item, until that is put away, or something else in words, until somebody takes
 * the words out. Else by its status.
 */
function isBlocked({ report, status }: BacklogItem, isOpen: (id: string) => boolean): boolean {
  const waitsFor = [report.blocked_by ?? []].flat().flatMap((names) => String(names).split(','));
  const named = waitsFor.map((name) => name.trim()).filter((name) => name !== '');
  if (named.length > 0) return named.some(isOpen);
  return status?.toLowerCase() === 'blocked' || report.blocked === true;
}

/** `BUG-007`, `bug-7` and `BUG-7` are the same item. */
function plainId(id: string): string {
  const [, prefix, number] = idPattern.exec(id) ?? [];
  return prefix === undefined ? id.toUpperCase() : `${prefix.toUpperCase()}-${Number(number)}`;
}

/** P0 before P3, bugs before features before what people do, the oldest first. */
export function byUrgency(one: ItemRef, other: ItemRef): number {
  return (
    priorities.indexOf(one.priority) - priorities.indexOf(other.priority) ||
    itemKinds.indexOf(one.kind) - itemKinds.indexOf(other.kind) ||
    age(one) - age(other) ||
    numberOf(one.id) - numberOf(other.id)
  );
}

/** Epoch ms; the youngest of all where nothing readable is said. */
function age({ createdAt }: ItemRef): number {
  const at = Date.parse(createdAt ?? '');
  return Number.isNaN(at) ? Number.MAX_SAFE_INTEGER : at;
}

export function numberOf(id: string): number {
  return Number(idPattern.exec(id)?.[2] ?? 0);
}

/** What an item is to the machine. */
export function refOf({ id, kind, title, priority, component, createdAt, blocked, folder }: BacklogItem): ItemRef {
  return { id, kind, title, priority, component, createdAt, blocked, folder };
}

/** Every STOP in the comments of open items, of the run, and of the backlog itself. */
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

/** The folder of an item below the backlog, open or put away; null where there is none. */
export function folderOf(backlog: string, id: string): string | null {
  const places = [...layouts.map(({ folder }) => folder), ...restingFolders];
  const folders = places.flatMap((place) => foldersIn(join(backlog, place)).map((name) => ({ place, name })));
  const found = folders.find(({ name }) => idOf(name) === id);
  return found === undefined ? null : `${found.place}/${found.name}`;
}
