import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { z } from 'zod';
import { check } from '../agent/check.ts';
import { ToolError } from '../tools/result.ts';
import { globMatcher, longestGlob } from './globs.ts';
import { inside, placeInside } from './inside.ts';

export type FileToolsOptions = {
  /**
   * The files that may be written without approval, as patterns such as `src/**` or `*.md`. Default: none, so that every
   * write asks; in an unattended run, it is denied.
   */
  allow?: readonly string[];
};

const path = z.string().describe('Relative to the directory; "." is the directory itself.');
const file = z.string().min(1).describe('Relative to the directory.');
const mostEntries = 500;
const mostSearched = 5_000;
const largestFile = 5_000_000;
const largestSearched = 1_000_000;
const mostMatches = 50;
const skipped = new Set(['node_modules', '.git', 'dist']);

const patterns = z.array(z.string().min(1).max(longestGlob), { error: 'an array of patterns such as `src/**`' });
const optionsSchema = z.strictObject({
  allow: patterns.optional(),
} satisfies Record<keyof FileToolsOptions, z.ZodType>);
const rootSchema = z.string({ error: 'the path of a directory' }).min(1, { error: 'the path of a directory' });

/**
 * Returns tools for the files of one directory: list, find, search, read, write and edit. No path leads out of it, not even
 * through links, and nothing in a `.git` is written. A write needs approval unless `allow` names the file. Throws
 * `invalid_options`.
 */
export function fileTools(root: string, options: FileToolsOptions = {}) {
  check(rootSchema, root, 'root', 'invalid_options');
  const { allow = [] } = check(optionsSchema, options, 'options', 'invalid_options');
  const allowed = allow.map(globMatcher);
  /** Judged by where the file really is, so that no link makes one file look like another. */
  const needsApproval = async ({ path: given }: { path: string }) => {
    const home = await inside(root, '.');
    const place = await placeInside(root, given).catch(() => null);
    return place === null || !allowed.some((matches) => matches(relative(home, place).split(sep).join('/')));
  };
  return {
    list_directory: {
      description: 'Lists the files and folders in a folder, with sizes in bytes.',
      inputSchema: z.object({ path }),
      execute: async (input: { path: string }) => {
        const folder = await inside(root, input.path);
        const entries = await readdir(folder, { withFileTypes: true });
        const shown = entries.filter((entry) => !skipped.has(entry.name));
        const listed = shown.slice(0, mostEntries);
        const described = await Promise.all(
          listed.map(async (entry) => {
            const kind = entry.isDirectory() ? 'folder' : 'file';
            const { size } = await stat(join(folder, entry.name)).catch(() => ({ size: 0 }));
            return { name: entry.name, kind, ...(kind === 'file' && { size }) };
          }),
        );
        return { entries: described, leftOut: shown.length - listed.length };
      },
    },
    read_file: {
      description: 'Reads a text file.',
      inputSchema: z.object({ path }),
      execute: (input: { path: string }) => textOf(root, input.path),
    },
    find_files: {
      description: 'Finds files by a pattern of their paths, such as "src/**/*.ts" or "*.md".',
      inputSchema: z.object({ pattern: z.string().min(1).max(longestGlob) }),
      execute: async ({ pattern }: { pattern: string }) => {
        const matches = globMatcher(pattern);
        const found = (await filesIn(await inside(root, '.'))).filter((name) => matches(name));
        return { files: found.slice(0, mostEntries), leftOut: Math.max(0, found.length - mostEntries) };
      },
    },
    search_text: {
      description: 'Finds the lines in text files that contain a given text, ignoring case.',
      inputSchema: z.object({ text: z.string().min(1) }),
      execute: async ({ text }: { text: string }) => {
        const home = await inside(root, '.');
        const matches: { file: string; line: number; text: string }[] = [];
        for (const name of (await filesIn(home)).filter((one) => searchable.test(one)).slice(0, mostEntries)) {
          if ((await stat(join(home, name))).size > largestSearched) continue;
          const lines = (await readFile(join(home, name), 'utf8')).split('\n');
          for (const [index, line] of lines.entries()) {
            if (!line.toLowerCase().includes(text.toLowerCase())) continue;
            matches.push({ file: name, line: index + 1, text: line.trim().slice(0, 200) });
            if (matches.length === mostMatches) return matches;
          }
        }
        return matches;
      },
    },
    write_file: {
      description: 'Writes a text file, with the folders above it. What was there is replaced.',
      inputSchema: z.object({ path: file, content: z.string() }),
      needsApproval,
      execute: async (input: { path: string; content: string }) => {
        const place = await placeInside(root, input.path);
        await mkdir(dirname(place), { recursive: true });
        await writeFile(place, input.content);
        return { written: Buffer.byteLength(input.content) };
      },
    },
    edit_file: {
      description: 'Replaces a text in a file by another. The old text must be in the file exactly once.',
      inputSchema: z.object({ path: file, old_text: z.string().min(1), new_text: z.string() }),
      needsApproval,
      execute: async (input: { path: string; old_text: string; new_text: string }) => {
        const place = await placeInside(root, input.path);
        const text = await textOf(root, input.path);
        const pieces = text.split(input.old_text);
        if (pieces.length === 1) throw new ToolError(`${input.path} does not contain the old text.`);
        if (pieces.length > 2) {
          throw new ToolError(`${input.path} contains the old text ${pieces.length - 1} times; quote more around it.`);
        }
        await writeFile(place, pieces.join(input.new_text));
        return { replaced: 1 };
      },
    },
  };
}

/** The tools that only look. */
export function readingTools(root: string) {
  const { write_file: _, edit_file: __, ...reading } = fileTools(root);
  return reading;
}

async function textOf(root: string, given: string): Promise<string> {
  const place = await inside(root, given);
  const about = await stat(place);
  if (!about.isFile()) throw new ToolError(`${given} is not a file.`);
  if (about.size > largestFile) throw new ToolError(`${given} is ${about.size} bytes; the limit is ${largestFile}.`);
  const bytes = await readFile(place);
  if (bytes.subarray(0, 8_000).includes(0)) throw new ToolError(`${given} is not a text file.`);
  return bytes.toString('utf8');
}

const searchable = /\.(md|txt|ts|tsx|js|jsx|mjs|json|ya?ml|toml|html|css|py|rs|go|java|c|h|cc|cpp|rb|php|sh|sql)$/;

/** Lists at most `mostSearched` files below `folder`, with slashes, as far as it can be read. Links are not followed. */
async function filesIn(folder: string, above = '', found: string[] = []): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.toSorted((one, other) => one.name.localeCompare(other.name))) {
    if (found.length >= mostSearched) return found;
    if (entry.isDirectory() && !skipped.has(entry.name)) {
      await filesIn(join(folder, entry.name), `${above}${entry.name}/`, found);
    } else if (entry.isFile()) found.push(`${above}${entry.name}`);
  }
  return found;
}
