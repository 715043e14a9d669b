import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { BacklogItem } from '../backlog/backlog.ts';
import { readIfThere, writeAtomically } from '../backlog/files.ts';
import { whileLocked } from '../backlog/lock.ts';
import { statusIn, withStatus } from '../backlog/reading/prompt-file.ts';

const place = 'agent_runs/in-progress.json';
const schema = z.object({ file: z.string(), before: z.string(), marked: z.string() });
type Mark = z.infer<typeof schema>;

const status = 'in_progress';

/**
 * The mark on the item that is worked on: its status is `in_progress` for as long. What the file was is kept beside, so
 * that it comes back as it was, also after a crash.
 */
export class InProgress {
  private readonly backlog: string;

  constructor(backlog: string) {
    this.backlog = backlog;
  }

  async begin(item: BacklogItem): Promise<void> {
    const { backlog } = this;
    await whileLocked(backlog, async () => {
      const mark = this.markOn(item);
      if (mark === null) return;
      writeAtomically(join(backlog, place), `${JSON.stringify(mark)}\n`);
      writeAtomically(join(backlog, mark.file), mark.marked);
    });
  }

  /** Takes the mark away, if there is one. What else changed in the file stays. */
  async end(): Promise<void> {
    const { backlog } = this;
    await whileLocked(backlog, async () => {
      const mark = this.kept();
      if (mark === null) return;
      const path = join(backlog, mark.file);
      const now = readIfThere(path);
      const unmarked = now === mark.marked ? mark.before : now === null ? null : withoutMark(now, mark);
      if (unmarked !== null && unmarked !== now) writeAtomically(path, unmarked);
      rmSync(join(backlog, place), { force: true });
    });
  }

  /** Null for an item that says no status: it gets no file for it. */
  private markOn({ folder, layout, report }: BacklogItem): Mark | null {
    const { backlog } = this;
    const reportFile = `${folder}/${layout.reportFile}`;
    const before = readIfThere(join(backlog, reportFile));
    if (before !== null) {
      const marked = `${JSON.stringify({ ...report, status }, null, 2)}\n`;
      return { file: reportFile, before, marked };
    }
    for (const name of [layout.promptFile, 'PROMPT.md']) {
      const text = readIfThere(join(backlog, folder, name));
      if (text !== null && statusIn(text) !== null) {
        return { file: `${folder}/${name}`, before: text, marked: withStatus(text, status) };
      }
    }
    return null;
  }

  /** One that cannot be read was not written by a run. */
  private kept(): Mark | null {
    try {
      return schema.nullable().parse(JSON.parse(readIfThere(join(this.backlog, place)) ?? 'null'));
    } catch {
      return null;
    }
  }
}

/** Returns a file that the work changed, with the status of before if it still says that it is worked on. */
function withoutMark(now: string, { file, before }: Mark): string {
  if (file.endsWith('.md')) return statusIn(now) === status ? withStatus(now, statusIn(before) ?? '') : now;
  const report = objectIn(now);
  if (report?.status !== status) return now;
  return `${JSON.stringify({ ...report, status: objectIn(before)?.status }, null, 2)}\n`;
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
