import { type FileHandle, lstat, mkdir, rename, unlink } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { eventLoop } from '../host/event-loop.ts';
import { check } from '../input/check.ts';
import { reasonOf } from '../input/errors.ts';
import { oneAtATime } from '../platform/promises.ts';
import { ToolError } from '../vocabulary/tool-error.ts';
import { diffOf, type FileShown } from './diff.ts';
import { globMatcher, isGlob } from './globs.ts';
import { inside, placeInside } from './inside.ts';
import { overwrite, withFile } from './opened.ts';
import { glob, isBinary, linesFinder, type Search, searchedLines, searchSchema, tooMany } from './search.ts';
import { entriesInFolder, filesBelow, skipped } from './walk.ts';

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
const line = z.int().min(1);
const mostEntries = 500;
const largestFile = 5_000_000;
const mostMatches = 50;
const skips = `Folders named ${[...skipped].join(', ')} are not searched; \`notSearched\` names the first of them.`;

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

type Run = { abortSignal?: AbortSignal | undefined };
type Edit = { path: string; old_text: string; new_text: string };

/**
 * Returns tools for the files of one directory: list, find, search, read, write, edit, move and delete. No path leads out
 * of it, not even through links, nothing in a `.git` is written, and a journal that this process has open is neither read
 * nor written. What changes a file requires approval if `allow` does not match it; its `preview` returns what a person is to
 * see, such as a diff. Throws `invalid_options`.
 */
export function fileTools(root: string, options: FileToolsOptions = {}) {
  check(rootSchema, root, 'root', 'invalid_options');
  const { allow = [], except = [] } = check(optionsSchema, options, 'options', 'invalid_options');
  const [allowed, excepted] = [allow.map(globMatcher), except.map(globMatcher)];
  /** Checks the path after links have been followed, because a link can make one file look like another. */
  const asksFor = async (given: string) => {
    const home = await inside(root, '.');
    const place = await placeInside(root, given).catch(() => null);
    if (place === null) return true;
    const name = relative(home, place).split(sep).join('/');
    return !allowed.some((matches) => matches(name)) || excepted.some((matches) => matches(name));
  };
  const needsApproval = ({ path: given }: { path: string }) => asksFor(given);
  const text = (given: string) =>
    withFile(
      given,
      'read',
      () => inside(root, given),
      (file, size) => textOf(file, size, given),
    );
  /** What a file holds, for a person; null if it does not exist. */
  const shownText = async (given: string): Promise<FileShown | null> => {
    const place = await placeInside(root, given);
    if ((await lstat(place).catch(() => null)) === null) return null;
    return text(given).then(
      (whole) => ({ text: whole }),
      (error) => ({ text: null, why: reasonOf(error) }),
    );
  };
  /** A link is not taken for what it leads to: what is left of the two would be a surprise. */
  const refuseLink = async (given: string) => {
    await inside(root, given);
    if ((await lstat(resolve(await inside(root, '.'), given))).isSymbolicLink())
      throw new ToolError(`${given} is a link. Name the file that it leads to.`);
  };
  return {
    list_directory: {
      description: `Lists the files and folders in a folder, with sizes in bytes: ${mostEntries} at most.`,
      inputSchema: z.object({ path }),
      execute: async (input: { path: string }, { abortSignal }: Run = {}) => {
        const folder = await inside(root, input.path);
        const { entries, isComplete } = await entriesInFolder(folder, abortSignal);
        // It may have become a link to another folder meanwhile.
        if ((await inside(root, input.path)) !== folder) throw new ToolError(`${input.path} was replaced; try again.`);
        const listed = entries.slice(0, mostEntries);
        const described = await Promise.all(
          listed.map(async (entry) => {
            const kind = entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'file';
            const { size } = await lstat(join(folder, entry.name)).catch(() => ({ size: 0 }));
            return { name: entry.name, kind, ...(kind === 'file' && { size }) };
          }),
        );
        const leftOut = entries.length - listed.length;
        return { entries: described, leftOut, ...(!isComplete && { andMore: true }) };
      },
    },
    read_file: {
      description: 'Reads a text file, or some of its lines: from `start_line` to `end_line`, the first is 1.',
      inputSchema: z.object({ path: file, start_line: line.optional(), end_line: line.optional() }),
      execute: async (input: { path: string; start_line?: number | undefined; end_line?: number | undefined }) => {
        const whole = await text(input.path);
        const { start_line: start = 1, end_line: end = Number.POSITIVE_INFINITY } = input;
        if (start === 1 && end === Number.POSITIVE_INFINITY) return whole;
        const lines = whole.split(/(?<=\n)/);
        if (start > lines.length || end < start)
          throw new ToolError(
            `${input.path} has ${lines.length} lines, so it has no lines from ${start}${end === Number.POSITIVE_INFINITY ? ' on' : ` to ${end}`}.`,
          );
        return lines.slice(start - 1, end).join('');
      },
    },
    find_files: {
      description: `Finds files by a pattern of their paths, such as "src/**/*.ts" or "*.md". \`isComplete\` is false if some are left out. ${skips}`,
      inputSchema: z.object({ pattern: glob }),
      execute: async ({ pattern }: { pattern: string }, { abortSignal }: Run = {}) => {
        const matches = globMatcher(pattern);
        const { names, isComplete, notSearched } = await filesBelow(await inside(root, '.'), abortSignal);
        const found = names.filter(matches);
        const files = found.slice(0, mostEntries);
        return { files, isComplete: isComplete && found.length <= mostEntries, notSearched };
      },
    },
    search_text: {
      description: `Finds the lines in text files that contain a text, ignoring case, or match a regular expression. \`isComplete\` is false if some lines or files are left out. ${skips}`,
      inputSchema: searchSchema,
      execute: async (wanted: Search, { abortSignal }: Run = {}) => {
        const isWanted = linesFinder(wanted);
        const { names, isComplete, notSearched } = await filesBelow(await inside(root, '.'), abortSignal);
        const matches: { file: string; line: number; text: string }[] = [];
        let isAll = isComplete;
        for (const name of names.filter(wanted.files === undefined ? () => true : globMatcher(wanted.files))) {
          abortSignal?.throwIfAborted();
          if (eventLoop.isDue) await eventLoop.turn();
          const lines = await searchedLines(root, name);
          isAll &&= lines !== null;
          for (const index of isWanted(lines ?? [], mostMatches - matches.length)) {
            matches.push({ file: name, line: index + 1, text: (lines?.[index] ?? '').trim().slice(0, 200) });
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
      preview: async (input: { path: string; content: string }) =>
        diffOf(input.path, await shownText(input.path), { text: input.content }),
      execute: (input: { path: string; content: string }) =>
        oneByOne(async () => {
          await mkdir(dirname(await placeInside(root, input.path)), { recursive: true });
          const find = () => placeInside(root, input.path);
          return { written: await withFile(input.path, 'write', find, (opened) => overwrite(opened, input.content)) };
        }),
    },
    edit_file: {
      description: 'Replaces a text in a file by another. The old text must be in the file exactly once.',
      inputSchema: z.object({ path: file, old_text: z.string().min(1), new_text: z.string() }),
      needsApproval,
      preview: async (input: Edit) => {
        const whole = await text(input.path);
        return diffOf(input.path, { text: whole }, { text: edited(whole, input) });
      },
      execute: (input: Edit) =>
        oneByOne(async () => {
          const find = () => placeInside(root, input.path);
          await inside(root, input.path);
          await withFile(input.path, 'change', find, async (opened, size) => {
            const whole = await textOf(opened, size, input.path, 'exactly');
            await overwrite(opened, edited(whole, input));
          });
          return { replaced: 1 };
        }),
    },
    move_file: {
      description: 'Moves or renames a file, with the folders above its new place. It replaces nothing.',
      inputSchema: z.object({ from: file, to: file }),
      needsApproval: async ({ from, to }: { from: string; to: string }) => (await asksFor(from)) || asksFor(to),
      preview: async ({ from, to }: { from: string; to: string }) => `${from} → ${to}`,
      execute: ({ from, to }: { from: string; to: string }) =>
        oneByOne(async () => {
          await refuseLink(from);
          const [source, target] = [await placeInside(root, from), await placeInside(root, to)];
          await withFile(
            from,
            'read',
            () => placeInside(root, from),
            async () => undefined,
          );
          if ((await lstat(target).catch(() => null)) !== null) throw new ToolError(`${to} exists already.`);
          await mkdir(dirname(target), { recursive: true });
          await rename(source, target);
          return { moved: 1 };
        }),
    },
    delete_file: {
      description: 'Deletes a file.',
      inputSchema: z.object({ path: file }),
      needsApproval,
      preview: async (input: { path: string }) => diffOf(input.path, await shownText(input.path), null),
      execute: (input: { path: string }) =>
        oneByOne(async () => {
          await refuseLink(input.path);
          const find = () => placeInside(root, input.path);
          await withFile(input.path, 'read', find, async () => unlink(await find()));
          return { deleted: 1 };
        }),
    },
  };
}

/** The read-only tools. */
export function readingTools(root: string) {
  const { write_file: _, edit_file: __, move_file: ___, delete_file: ____, ...reading } = fileTools(root);
  return reading;
}

/** Returns a text after an edit. Throws a `ToolError` if the old text is not in it exactly once. */
function edited(whole: string, edit: Edit): string {
  const { old_text, new_text } = withEndsOf(whole, edit);
  const at = whole.indexOf(old_text);
  if (at === -1) throw new ToolError(`${edit.path} does not contain the old text.`);
  // Two places may overlap.
  if (whole.includes(old_text, at + 1))
    throw new ToolError(`${edit.path} contains the old text more than once. Include more of the surrounding text.`);
  return whole.slice(0, at) + new_text + whole.slice(at + old_text.length);
}

/** Returns an edit with the line ends of the file, where models write others: LF for a file with CRLF. */
function withEndsOf(whole: string, edit: Edit): Edit {
  if (whole.includes(edit.old_text) || !whole.includes('\r\n')) return edit;
  const converted = (text: string) => text.replace(/\r?\n/g, '\r\n');
  return { ...edit, old_text: converted(edit.old_text), new_text: converted(edit.new_text) };
}

/** Reads an open text file. `exactly`: its encoding must be UTF-8, because an edit would corrupt any other. */
async function textOf(opened: FileHandle, size: number, given: string, exactly?: 'exactly'): Promise<string> {
  if (size > largestFile) throw new ToolError(`${given} is ${size} bytes; the limit is ${largestFile}.`);
  const bytes = await opened.readFile();
  if (isBinary(bytes)) throw new ToolError(`${given} is not a text file.`);
  if (exactly === undefined) return bytes.toString('utf8');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ToolError(`${given} is not UTF-8, so it cannot be edited.`);
  }
}
