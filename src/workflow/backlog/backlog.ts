import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ItemRef, itemKinds, priorities, type StopMarker } from '../../../machines/index.ts';
import { messageOf, PawlError, shown, unexpected } from '../../input/errors.ts';
import { foldersIn } from './files.ts';
import { type KindLayout, layouts, restingFolders } from './item-kinds.ts';
import { cyclesIn } from './reading/cycles.ts';
import { type ItemFacts, itemFacts, namedIds } from './reading/item-sources.ts';
import { itemText } from './reading/item-text.ts';
import { KnownItems } from './reading/known-items.ts';
import { checkInside } from './reading/links.ts';
import { stopRequestIn } from './stop-marker.ts';
import { summaryRows } from './summary/summary-file.ts';

/** An item as read from the disk. */
export type BacklogItem = ItemRef & {
  status: string | null;
  /** Why it is open, waits or is done, in a few words. */
  why: string;
  /** The open items that it waits for. */
  waitsFor: string[];
  description: string;
  /** The text of its `comments.md`. */
  comments: string;
  /** All fields of the report file, known or not; empty without one. */
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
  /** What a person should know: sources that disagree, and items that depend on each other or on what is not there. */
  notes: string[];
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
  throw unexpected('invalid_backlog', 'backlog', backlog, 'the path of a folder');
}

/** Matches the name of an item's folder. */
export const idPattern = /^([A-Z]+)-(\d+)/i;

/** Matches a name that is an id and nothing else: a note may begin with one. */
const wholeId = /^[A-Z]+-\d+$/i;

/** The contents of one item folder. */
export type ReadItem = { facts: ItemFacts; comments: string };

/**
 * Reads the items of a backlog. Unknown files and fields are left unchanged. Items in `known` are read again only after a
 * change.
 */
export function readBacklog(backlog: string, known = new KnownItems<ReadItem>()): Backlog {
  const found: Found[] = [];
  const unreadable: Backlog['unreadable'] = [];
  const resting = new Map(
    restingFolders.flatMap((place) =>
      foldersIn(join(backlog, place)).map((name) => [plainId(idOf(name)), `${place}/${name}`] as const),
    ),
  );
  const places = new Map<string, string>(resting);
  for (const layout of layouts) {
    const names = itemFoldersIn(backlog, layout, unreadable);
    const rows = names.length === 0 ? new Map() : summaryRows(backlog, layout);
    for (const name of names) {
      const folder = `${layout.folder}/${name}`;
      try {
        checkInside(backlog, folder);
        const row = rows.get(plainId(idOf(name)));
        const files = [...new Set([layout.reportFile, layout.promptFile, 'PROMPT.md', commentsFile])];
        const { facts, comments } = known.of(backlog, folder, files, JSON.stringify(row), () => ({
          facts: itemFacts(backlog, folder, layout, row),
          comments: itemText(backlog, `${folder}/${commentsFile}`) ?? '',
        }));
        const item = itemOf(layout, name, facts, comments);
        const own = plainId(item.id);
        const twin = places.get(own);
        places.set(own, twin ?? folder);
        if (twin === undefined) found.push({ item, facts });
        else unreadable.push({ folder, problem: `${twin} shares the id ${item.id}` });
      } catch (error) {
        unreadable.push({ folder, problem: messageOf(error) });
      }
    }
  }
  const done = found.filter(({ facts }) => facts.meaning === 'done').map(({ item }) => item);
  const open = found.filter(({ facts }) => facts.meaning !== 'done');
  const finished = new Set([...resting.keys(), ...done.map(({ id }) => plainId(id))]);
  const notes = found.flatMap(({ item, facts }) =>
    facts.disagreement === null ? [] : [`${item.id}: ${facts.disagreement}`],
  );
  notes.push(...done.map(({ id, why, folder }) => `${id} is marked done (${why}), and is still in ${folder}`));
  notes.push(...wait(open, finished));
  return { items: open.map(({ item }) => item).toSorted(byUrgency), done, unreadable, notes };
}

type Found = { item: BacklogItem; facts: ItemFacts };

const commentsFile = 'comments.md';

/** Returns the names of the item folders of a kind. A link that leads outside the backlog is reported as unreadable. */
function itemFoldersIn(backlog: string, { folder }: KindLayout, unreadable: Backlog['unreadable']): string[] {
  try {
    checkInside(backlog, folder);
    return foldersIn(join(backlog, folder)).filter((name) => idPattern.test(name));
  } catch (error) {
    unreadable.push({ folder, problem: messageOf(error) });
    return [];
  }
}

function itemOf(layout: KindLayout, name: string, facts: ItemFacts, comments: string): BacklogItem {
  const folder = `${layout.folder}/${name}`;
  const { title, priority, component, createdAt, status, description, report, why } = facts;
  return {
    id: idOf(name),
    kind: layout.kind,
    title: title ?? name,
    priority,
    component,
    createdAt,
    blocked: false,
    folder,
    status,
    why,
    waitsFor: [],
    description,
    comments,
    report,
    layout,
  };
}

/** The names in an entry of `blocked_by`. An object names an item by its id. */
function namesIn(entry: unknown): string[] {
  if (entry === false || entry === null) return [];
  return typeof entry === 'object' ? namedIds(entry) : String(entry).split(',');
}

/**
 * Marks the items that wait. `blocked_by` names what an item waits for, or holds a text that a person must remove; what it
 * depends on, and what names it as held up, must be done first. Otherwise its status and its field `blocked` decide.
 * Returns what a person should know.
 */
function wait(open: readonly Found[], finished: ReadonlySet<string>): string[] {
  const notes: string[] = [];
  const ids = new Map(open.map(({ item }) => [plainId(item.id), item.id]));
  const heldUpBy = new Map<string, string[]>();
  for (const { item, facts } of open)
    for (const id of facts.blocks) heldUpBy.set(plainId(id), [...(heldUpBy.get(plainId(id)) ?? []), item.id]);
  for (const { item, facts } of open) {
    const { report } = item;
    const named = [report.blocked_by ?? []]
      .flat()
      .flatMap(namesIn)
      .map((name) => name.trim())
      .filter((name) => name !== '');
    const blockers = named
      .filter((name) => !finished.has(plainId(name)))
      .map((name) => (wholeId.test(name) ? ids.get(plainId(name)) : undefined) ?? name);
    const own = plainId(item.id);
    const needed = [...new Set(facts.dependsOn.map(plainId))].filter((id) => id !== own && !finished.has(id));
    const missing = needed.filter((id) => !ids.has(id) && !named.some((name) => plainId(name) === id));
    if (missing.length > 0) notes.push(`${item.id} depends on ${missing.join(', ')}, which is not in the backlog`);
    const depends = needed.flatMap((id) => ids.get(id) ?? []);
    item.waitsFor = [...new Set([...blockers, ...depends, ...(heldUpBy.get(own) ?? [])])].filter(
      (id) => id !== item.id,
    );
    const isHeld = named.length === 0 && (facts.meaning === 'waiting' || report.blocked === true);
    item.blocked = item.waitsFor.length > 0 || isHeld;
    if (item.waitsFor.length > 0) item.why = `waits for ${item.waitsFor.join(', ')}`;
    else if (item.kind === 'human-action') item.why = `for a person, ${item.why}`;
    else if (isHeld && facts.meaning !== 'waiting') item.why = `blocked in ${item.layout.reportFile}`;
  }
  return [...notes, ...cyclesIn(open.map(({ item }) => item))];
}

/** Returns the id at the start of a folder name: `BUG-007-short-slug` -> `BUG-007`. */
export function idOf(folderName: string): string {
  return (idPattern.exec(folderName)?.[0] ?? folderName).toUpperCase();
}

/** Normalizes an id: `BUG-007`, `bug-7` and `BUG-7` are the same item. */
export function plainId(id: string): string {
  const [, prefix, number] = idPattern.exec(id) ?? [];
  return prefix === undefined ? id.toUpperCase() : `${prefix.toUpperCase()}-${Number(number)}`;
}

/** Compares by urgency: P0 before P3, what people asked for before what runs filed, bugs before features, by number. */
function byUrgency(one: BacklogItem, other: BacklogItem): number {
  return (
    priorities.indexOf(one.priority) - priorities.indexOf(other.priority) ||
    Number(isOfRun(one)) - Number(isOfRun(other)) ||
    itemKinds.indexOf(one.kind) - itemKinds.indexOf(other.kind) ||
    numberOf(one.id) - numberOf(other.id)
  );
}

/** Whether a run filed it about itself. A STOP with a request is a person's wish. */
function isOfRun({ kind, report }: BacklogItem): boolean {
  return kind === 'bug' && typeof report.fingerprint === 'string';
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
    return { file, item: null, component: null, text: itemText(backlog, file) ?? '' };
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
