import { lstat, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { z } from 'zod';
import { check } from '../input/check.ts';
import { isOpenDatabase } from '../journal/open-databases.ts';
import { oneAtATime } from '../platform/promises.ts';
import { ToolError } from '../vocabulary/tool-error.ts';
import { globMatcher, isGlob, mostAlternatives } from './globs.ts';
import { inside, placeInside } from './inside.ts';

export type FileToolsOptions = {
  /**
   * Patterns of the files that may be written without approval, such as `src/**`, `docs/` or `*.{md,txt}`, of at most 64
   * alternatives. Default: none. An unattended run denies all other writes.
   */
  allow?: readonly string[];
  /** Patterns of files whose writes need approval even if `allow` matches them. Default: none. */
  except?: readonly string[];
};

const path = z.string().describe('Relative to the directory; "." is the directory itself.');
const file = z.string().min(1).describe('Relative to the directory.');
const mostEntries = 500;
const mostSearched = 5_000;
const largestFile = 5_000_000;
const largestSearched = 1_000_000;
const mostMatches = 50;
const skipped = new Set(['node_modules', '.git', 'dist']);
const skips = `Folders named ${[...skipped].join(', ')} are not searched; \`notSearched\` names the first of them.`;
const mostSkipped = 20;

const tooMany = { error: `a pattern of at most ${mostAlternatives} alternatives` };
const patterns = z.array(z.string().min(1).refine(isGlob, tooMany), {
  error: 'an array of patterns such as `src/**`',
});
const optionsSchema = z.strictObject({
  allow: patterns.optional(),
  except: patterns.optional(),
} satisfies Record<keyof FileToolsOptions, z.ZodType>);
const rootSchema = z.string({ error: 'the path of a directory' }).min(1, { error: 'the path of a directory' });

/** For all writes of the process: two at once could overwrite each other, or together make what git takes for a repository. */
const oneByOne = oneAtATime();

/**
 * Returns tools for the files of one directory: list, find, search, read, write and edit. No path leads out of it, not even
 * through links, nothing in a `.git` is written, and a journal that this process has open is neither read nor written. A
 * write requires approval if `allow` does not match the file. Throws `invalid_options`.
 */
export function fileTools(root: string, options: FileToolsOptions = {}) {
  check(rootSchema, root, 'root', 'invalid_options');
  const { allow = [], except = [] } = check(optionsSchema, options, 'options', 'invalid_options');
  const [allowed, excepted] = [allow.map(globMatcher), except.map(globMatcher)];
  /** Checks the path after links have been followed, because a link can make one file look like another. */
  const needsApproval = async ({ path: given }: { path: string }) => {
    const home = await inside(root, '.');
    const place = await placeInside(root, given).catch(() => null);
    if (place === null) return true;
    const name = relative(home, place).split(sep).join('/');
    return !allowed.some((matches) => matches(name)) || excepted.some((matches) => matches(name));
  };
  return {
    list_directory: {
      description: 'Lists the files and folders in a folder, with sizes in bytes.',
      inputSchema: z.object({ path }),
      execute: async (input: { path: string }) => {
        const folder = await inside(root, input.path);
        const entries = await readdir(folder, { withFileTypes: true });
        const listed = entries.slice(0, mostEntries);
        const described = await Promise.all(
          listed.map(async (entry) => {
            const kind = entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'file';
            const { size } = await lstat(join(folder, entry.name)).catch(() => ({ size: 0 }));
            return { name: entry.name, kind, ...(kind === 'file' && { size }) };
          }),
        );
        return { entries: described, leftOut: entries.length - listed.length };
      },
    },
    read_file: {
      description: 'Reads a text file.',
      inputSchema: z.object({ path }),
      execute: async (input: { path: string }) => (await bytesOf(root, input.path)).toString('utf8'),
    },
    find_files: {
      description: `Finds files by a pattern of their paths, such as "src/**/*.ts" or "*.md". \`isComplete\` is false if some are left out. ${skips}`,
      inputSchema: z.object({ pattern: z.string().min(1).max(200).refine(isGlob, tooMany) }),
      execute: async ({ pattern }: { pattern: string }) => {
        const matches = globMatcher(pattern);
        const { names, isComplete, notSearched } = await filesIn(await inside(root, '.'));
        const found = names.filter(matches);
        const files = found.slice(0, mostEntries);
        return { files, isComplete: isComplete && found.length <= mostEntries, notSearched };
      },
    },
    search_text: {
      description: `Finds the lines in text files that contain a given text, ignoring case. The text is not a pattern. \`isComplete\` is false if some lines or files are left out. ${skips}`,
      inputSchema: z.object({ text: z.string().min(1).max(1_000) }),
      execute: async ({ text }: { text: string }) => {
        const wanted = text.toLowerCase();
        const home = await inside(root, '.');
        const matches: { file: string; line: number; text: string }[] = [];
        const { names, isComplete, notSearched } = await filesIn(home);
        let isAll = isComplete;
        for (const name of names) {
          const lines = await searchedLines(join(home, name));
          isAll &&= lines !== null;
          for (const [index, line] of (lines ?? []).entries()) {
            if (!line.toLowerCase().includes(wanted)) continue;
            matches.push({ file: name, line: index + 1, text: line.trim().slice(0, 200) });
            if (matches.length === mostMatches) return { matches, isComplete: false, notSearched };
          }
        }
        return { matches, isComplete: isAll, notSearched };
      },
    },
    write_file: {
      description: 'Writes a text file, with the folders above it. What was there is replaced.',
      inputSchema: z.object({ path: file, content: z.string() }),
      needsApproval,
      execute: (input: { path: string; content: string }) => {
        return oneByOne(async () => {
          const place = unlocked(await placeInside(root, input.path), input.path);
          await mkdir(dirname(place), { recursive: true });
          const there = await stat(place).catch(() => null);
          if (there !== null && !there.isFile()) throw new ToolError(`${input.path} is not a file.`);
          await writeFile(place, input.content);
          return { written: Buffer.byteLength(input.content) };
        });
      },
    },
    edit_file: {
      description: 'Replaces a text in a file by another. The old text must be in the file exactly once.',
      inputSchema: z.object({ path: file, old_text: z.string().min(1), new_text: z.string() }),
      needsApproval,
      execute: async (input: { path: string; old_text: string; new_text: string }) => {
        return oneByOne(async () => {
          const place = await placeInside(root, input.path);
          const whole = utf8(await bytesOf(root, input.path), input.path);
          const { old_text, new_text } = withEndsOf(whole, input);
          const at = whole.indexOf(old_text);
          if (at === -1) throw new ToolError(`${input.path} does not contain the old text.`);
          // Two places may overlap.
          if (whole.includes(old_text, at + 1))
            throw new ToolError(
              `${input.path} contains the old text more than once. Include more of the surrounding text.`,
            );
          await writeFile(place, whole.slice(0, at) + new_text + whole.slice(at + old_text.length));
          return { replaced: 1 };
        });
      },
    },
  };
}

/** Returns an edit with the line ends of the file, where models write others: LF for a file with CRLF. */
function withEndsOf<Edit extends { old_text: string; new_text: string }>(whole: string, edit: Edit): Edit {
  if (whole.includes(edit.old_text) || !whole.includes('\r\n')) return edit;
  const converted = (text: string) => text.replace(/\r?\n/g, '\r\n');
  return { ...edit, old_text: converted(edit.old_text), new_text: converted(edit.new_text) };
}

/** The read-only tools. */
export function readingTools(root: string) {
  const { write_file: _, edit_file: __, ...reading } = fileTools(root);
  return reading;
}

async function bytesOf(root: string, given: string): Promise<Buffer> {
  const place = unlocked(await inside(root, given), given);
  const about = await stat(place);
  if (!about.isFile()) throw new ToolError(`${given} is not a file.`);
  if (about.size > largestFile) throw new ToolError(`${given} is ${about.size} bytes; the limit is ${largestFile}.`);
  const bytes = await readFile(place);
  if (bytes.subarray(0, 8_000).includes(0)) throw new ToolError(`${given} is not a text file.`);
  return bytes;
}

function unlocked(place: string, given: string): string {
  if (isOpenDatabase(place)) throw new ToolError(`${given} is a database that this process has open.`);
  return place;
}

/** Decodes UTF-8 strictly, because an edit would corrupt any other encoding. */
function utf8(bytes: Buffer, given: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ToolError(`${given} is not UTF-8, so it cannot be edited.`);
  }
}

/** Returns the lines of a text file; an empty list for a binary file; null if the file is too long or unreadable. */
async function searchedLines(path: string): Promise<string[] | null> {
  try {
    if (isOpenDatabase(path)) return [];
    if ((await stat(path)).size > largestSearched) return null;
    const bytes = await readFile(path);
    return bytes.subarray(0, 8_000).includes(0) ? [] : bytes.toString('utf8').split('\n');
  } catch {
    return null;
  }
}

/** File paths with slashes. `isComplete` is false if some files are missing, except those in the folders `notSearched`. */
type Files = { names: string[]; isComplete: boolean; notSearched: string[] };

const noFiles = (): Files => ({ names: [], isComplete: true, notSearched: [] });

/** Lists at most `mostSearched` files below `folder`. Links are not followed. */
async function filesIn(folder: string, above = '', found: Files = noFiles()): Promise<Files> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => null);
  if (entries === null) found.isComplete = false;
  for (const entry of (entries ?? []).toSorted((one, other) => one.name.localeCompare(other.name))) {
    if (found.names.length >= mostSearched) {
      found.isComplete = false;
      return found;
    }
    const path = `${above}${entry.name}`;
    if (entry.isDirectory() && skipped.has(entry.name)) {
      if (found.notSearched.length < mostSkipped) found.notSearched.push(path);
    } else if (entry.isDirectory()) {
      await filesIn(join(folder, entry.name), `${path}/`, found);
    } else if (entry.isFile()) found.names.push(path);
  }
  return found;
}
