import { closeSync, lstatSync, openSync, readFileSync, readSync, realpathSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { messageOf } from '../../../errors.ts';
import { byteLength } from '../../../platform/bytes.ts';

/** Bytes of a text that are read; of a longer one, its beginning and its end. */
export const mostOfText = 1_000_000;

/** Throws if a path of the backlog is a link that leads out of it. Those above it are taken to be checked. */
export function checkInside(backlog: string, path: string): void {
  const whole = join(backlog, path);
  if (lstatSync(whole, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  const way = relative(realpathSync(backlog), realpathSync(whole));
  if (way === '..' || way.startsWith(`..${sep}`)) throw new Error(`${path} is a link that leads outside the backlog`);
}

/** Returns the text of a file of an item, its middle left out if it is long; null if it is not there. */
export function itemText(backlog: string, path: string, most = mostOfText): string | null {
  const whole = join(backlog, path);
  try {
    const about = statSync(whole, { throwIfNoEntry: false });
    if (about === undefined) return null;
    // To open a pipe waits for somebody who writes to it.
    if (!about.isFile()) throw new Error(`${path} is not a file`);
    checkInside(backlog, path);
    const text = about.size <= most ? readFileSync(whole, 'utf8') : endsOf(whole, about.size, most);
    return text.replace(/^\uFEFF/, '');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return null;
    const message = messageOf(error);
    throw new Error(message.includes(path) ? message : `${path}: ${message}`, { cause: error });
  }
}

/** Returns the text of a file of an item that makes sense only as a whole. Throws if it is too long. */
export function wholeItemText(backlog: string, path: string): string | null {
  const text = itemText(backlog, path);
  if (text === null || byteLength(text) < mostOfText) return text;
  throw new Error(`${path} has more than ${mostOfText} bytes`);
}

function endsOf(path: string, size: number, most: number): string {
  const half = Math.floor(most / 2);
  const file = openSync(path, 'r');
  try {
    const read = (at: number) => {
      const bytes = Buffer.alloc(half);
      return bytes.subarray(0, readSync(file, bytes, 0, half, at)).toString('utf8');
    };
    return `${read(0)}\n\n[${size - 2 * half} bytes left out]\n\n${read(size - half)}`;
  } finally {
    closeSync(file);
  }
}

/** What was read of items before, so that only what changed is read again. */
export class KnownItems<Read> {
  private readonly known = new Map<string, { stamp: string; read: Read }>();

  /** Returns what `read` returned for these files as they are now. `also` is what else it was read from. */
  of(backlog: string, folder: string, files: readonly string[], also: string, read: () => Read): Read {
    const stamp = `${also} ${files.map((name) => stampOf(join(backlog, folder, name))).join(' ')}`;
    const before = this.known.get(folder);
    if (before?.stamp === stamp) return before.read;
    const now = read();
    this.known.set(folder, { stamp, read: now });
    return now;
  }
}

/** What changes when a file, or the link to it, does. */
function stampOf(path: string): string {
  const about = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (about === undefined) return '-';
  const target = about.isSymbolicLink() ? statSync(path, { bigint: true, throwIfNoEntry: false }) : about;
  return `${about.ino} ${target?.mtimeNs} ${target?.size}`;
}
