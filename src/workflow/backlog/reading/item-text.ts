import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../../input/errors.ts';
import { byteLength } from '../../../platform/bytes.ts';
import { isMissing } from '../../../platform/node-only/paths.ts';
import { leftOut } from './fences.ts';
import { checkInside, isLink } from './links.ts';

/** Maximum bytes to read of a text. Of a longer text, the beginning and the end are read. */
export const mostOfText = 1_000_000;

/** Returns the text of a file of an item, without the middle of a long text; null if there is no such file. */
export function itemText(backlog: string, path: string, most = mostOfText): string | null {
  const whole = join(backlog, path);
  try {
    const about = statSync(whole, { throwIfNoEntry: false });
    if (about === undefined) {
      // Whoever writes through a link that leads nowhere makes the file there.
      if (isLink(whole)) throw new Error(`${path} is a link that leads nowhere`);
      return null;
    }
    // Opening a named pipe blocks until another process writes to it.
    if (!about.isFile()) throw new Error(`${path} is not a file`);
    checkInside(backlog, path);
    const text = about.size <= most ? readFileSync(whole, 'utf8') : endsOf(whole, about.size, most);
    return text.replace(/^\uFEFF/, '');
  } catch (error) {
    if (isMissing(error)) return null;
    const message = messageOf(error);
    throw new Error(message.includes(path) ? message : `${path}: ${message}`, { cause: error });
  }
}

/** Returns the whole text of a file of an item. Throws if it is too long. */
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
    return `${read(0)}\n\n${leftOut(size - 2 * half)}\n\n${read(size - half)}`;
  } finally {
    closeSync(file);
  }
}
