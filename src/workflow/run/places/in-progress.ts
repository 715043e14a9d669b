import { lstatSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { isRecord, jsonIn } from '../../../platform/plain-json.ts';
import { type BacklogItem, folderOf } from '../../backlog/backlog.ts';
import { readIfThere, writeAtomically } from '../../backlog/files.ts';
import { layouts } from '../../backlog/item-kinds.ts';
import { whileLocked } from '../../backlog/lock.ts';
import { checkInside } from '../../backlog/reading/links.ts';
import { statusInHead, withStatus } from '../../backlog/reading/prompt-file.ts';

const place = 'agent_runs/in-progress.json';
const schema = z.object({ item: z.string(), file: z.string(), before: z.string(), marked: z.string() });
type Mark = z.infer<typeof schema>;
/** Earlier versions kept one mark. */
const marksSchema = z.union([z.array(schema), schema.transform((mark) => [mark]), z.null().transform(() => [])]);

const status = 'in_progress';

/**
 * Sets the status of an item to `in_progress` while agents work on it, and then restores the original file, also after
 * a crash.
 */
export class InProgress {
  private readonly backlog: string;
  /** The marks of this process. An agent could forge the stored ones, so they are read only after a crash. */
  private own: readonly Mark[] = [];

  constructor(backlog: string) {
    this.backlog = backlog;
  }

  async begin(item: BacklogItem): Promise<void> {
    const { backlog } = this;
    await whileLocked(backlog, async () => {
      const mark = markOn(backlog, item);
      if (mark === null) return;
      this.keep([...this.own, mark]);
      writeAtomically(join(backlog, mark.file), mark.marked);
    });
  }

  /** Removes the mark of an item, if there is one. Other changes to the file are kept. */
  async end(id: string): Promise<void> {
    const { backlog } = this;
    await whileLocked(backlog, async () => {
      const mark = this.own.find(({ item }) => item === id);
      if (mark === undefined) return;
      unmark(backlog, mark);
      this.keep(this.own.filter((one) => one !== mark));
    });
  }

  /** Removes the marks that a process left when it died. */
  async endAll(): Promise<void> {
    const { backlog } = this;
    await whileLocked(backlog, async () => {
      for (const mark of kept(backlog)) unmark(backlog, mark);
      this.keep([]);
    });
  }

  private keep(marks: readonly Mark[]): void {
    this.own = marks;
    const path = join(this.backlog, place);
    if (marks.length === 0) rmSync(path, { force: true });
    else writeAtomically(path, `${JSON.stringify(marks)}\n`);
  }
}

function unmark(backlog: string, mark: Mark): void {
  // The work may have renamed the folder.
  const file = join(folderOf(backlog, mark.item) ?? dirname(mark.file), basename(mark.file));
  const now = plainText(backlog, file);
  const unmarked = now === null ? null : now === mark.marked ? mark.before : withoutMark(now, mark);
  if (unmarked !== null && unmarked !== now) writeAtomically(join(backlog, file), unmarked);
}

/** Returns the mark for an item; null if it has no status or this status, or if its file could not be restored exactly. */
function markOn(backlog: string, { id: item, folder, layout }: BacklogItem): Mark | null {
  const names = [layout.reportFile, layout.promptFile, 'PROMPT.md'];
  for (const file of names.map((name) => `${folder}/${name}`)) {
    const before = plainText(backlog, file);
    if (before === null) continue;
    const marked = withOtherStatus(file, before, status);
    if (marked !== null) return marked === before ? null : { item, file, before, marked };
    if (file.endsWith('.json')) return null;
  }
  return null;
}

/** Returns the text of a UTF-8 file, which can be restored byte for byte; null for other encodings and for a link. */
function plainText(backlog: string, file: string): string | null {
  const path = join(backlog, file);
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return null;
  const bytes = readFileSync(path);
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? text : null;
}

const jsonStatus = /("status"\s*:\s*)"(?:[^"\\]|\\.)*"/;

/** Returns the text with a new status and no other change; null if it has no status. */
function withOtherStatus(file: string, text: string, to: string): string | null {
  if (file.endsWith('.md')) return statusInHead(text) === null ? null : withStatus(text, to);
  const changed = text.replace(jsonStatus, (_, before: string) => `${before}${JSON.stringify(to)}`);
  const [was, is] = [objectIn(text), objectIn(changed)];
  const isAlone = typeof was?.status === 'string' && isDeepStrictEqual({ ...was, status: to }, is);
  return isAlone ? changed : null;
}

function statusOf(file: string, text: string): string | null {
  if (file.endsWith('.md')) return statusInHead(text);
  const found = objectIn(text)?.status;
  return typeof found === 'string' ? found : null;
}

/** Returns a text that the agent changed, with the original status if it is still marked. */
function withoutMark(now: string, { file, before }: Mark): string {
  if (statusOf(file, now) !== status) return now;
  return withOtherStatus(file, now, statusOf(file, before) ?? '') ?? now;
}

/** Returns the stored marks of a crashed process, without those that do not belong to an item. */
function kept(backlog: string): Mark[] {
  try {
    const marks = marksSchema.parse(JSON.parse(readIfThere(join(backlog, place)) ?? 'null'));
    return marks.filter((mark) => {
      const layout = layouts.find(({ folder }) => dirname(dirname(mark.file)) === folder);
      const names = layout === undefined ? [] : [layout.reportFile, layout.promptFile, 'PROMPT.md'];
      checkInside(backlog, dirname(mark.file));
      return names.includes(basename(mark.file)) && !mark.file.includes('..');
    });
  } catch {
    return [];
  }
}

function objectIn(text: string): Record<string, unknown> | null {
  const value = jsonIn(text.replace(/^\uFEFF/, ''));
  return isRecord(value) ? { ...value } : null;
}
