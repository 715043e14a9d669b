import { lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A cache of what was read of items: an item is read again only after one of its files has changed. */
export class KnownItems<Read> {
  private readonly known = new Map<string, { stamp: string; read: Read }>();

  /** Returns the result of `read` for the files as they are now. `also` identifies its other sources. */
  of(backlog: string, folder: string, files: readonly string[], also: string, read: () => Read): Read {
    const stamp = `${also} ${files.map((name) => stampOf(join(backlog, folder, name))).join(' ')}`;
    const before = this.known.get(folder);
    if (before?.stamp === stamp) return before.read;
    const now = read();
    this.known.set(folder, { stamp, read: now });
    return now;
  }
}

/** Returns a text that differs once the file, or the link to it, has changed. */
function stampOf(path: string): string {
  const about = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (about === undefined) return '-';
  const target = about.isSymbolicLink() ? statSync(path, { bigint: true, throwIfNoEntry: false }) : about;
  return `${about.ino} ${target?.mtimeNs} ${target?.size}`;
}
