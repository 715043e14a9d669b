import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { isOpenDatabase } from '../journal/open-databases.ts';
import { ToolError } from '../vocabulary/tool-error.ts';

/** Windows has neither; there, the comparison alone tells. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/** How a file is opened: to read it, to change it, or to write it whole, which makes a new one. */
const flags = {
  read: constants.O_RDONLY,
  change: constants.O_RDWR,
  write: constants.O_WRONLY | constants.O_CREAT,
} as const;

/**
 * Opens a file and gives it to `use`. `find` checks the path and returns the real one; it is asked again once the file is
 * open, so that a folder which becomes a link between the check and the opening leads nowhere else. Throws a `ToolError` for
 * what is no file, and for a journal that this process has open.
 */
export async function withFile<T>(
  given: string,
  how: keyof typeof flags,
  find: () => Promise<string>,
  use: (file: FileHandle, size: number) => Promise<T>,
): Promise<T> {
  const place = await find();
  if (isOpenDatabase(place)) throw new ToolError(`${given} is a database that this process has open.`);
  const file = await open(place, flags[how] | O_NOFOLLOW | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    // A pipe without a reader, or a link that was not there before.
    if (error.code === 'EISDIR' || error.code === 'ENXIO') throw new ToolError(`${given} is not a file.`);
    throw error.code === 'ELOOP' ? replaced(given) : error;
  });
  try {
    const opened = await file.stat({ bigint: true });
    if (!opened.isFile()) throw new ToolError(`${given} is not a file.`);
    const checked = await lstat(await find(), { bigint: true });
    if (opened.ino !== checked.ino || opened.dev !== checked.dev) throw replaced(given);
    return await use(file, Number(opened.size));
  } finally {
    await file.close();
  }
}

/** Puts a text in place of all that a file holds. */
export async function overwrite(file: FileHandle, text: string): Promise<number> {
  const bytes = Buffer.from(text);
  let written = 0;
  while (written < bytes.length)
    written += (await file.write(bytes, written, bytes.length - written, written)).bytesWritten;
  await file.truncate(written);
  return written;
}

function replaced(given: string): ToolError {
  return new ToolError(`${given} was replaced while it was opened. Look at its folder, and try again.`);
}
