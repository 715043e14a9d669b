import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { ToolError } from '../tools/result.ts';

const path = z.string().describe('Relative to the directory; "." is the directory itself.');
const mostEntries = 500;
const largestFile = 5_000_000;
const mostMatches = 50;
const skipped = new Set(['node_modules', '.git', 'dist']);

/** Returns read-only tools for one directory. No path leads out of it, not even through links. */
export function directoryTools(root: string) {
  const inside = async (given: string): Promise<string> => {
    const home = await realpath(root);
    const target = await realpath(resolve(home, given)).catch(() => {
      throw new ToolError(`${given} does not exist in the directory.`);
    });
    const way = relative(home, target);
    if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) {
      throw new ToolError(`${given} is outside the directory.`);
    }
    return target;
  };
  return {
    list_directory: {
      description: 'Lists the files and folders in a folder, with sizes in bytes.',
      inputSchema: z.object({ path }),
      execute: async (input: { path: string }) => {
        const folder = await inside(input.path);
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
      execute: async (input: { path: string }) => {
        const file = await inside(input.path);
        const about = await stat(file);
        if (!about.isFile()) throw new ToolError(`${input.path} is not a file.`);
        if (about.size > largestFile) {
          throw new ToolError(`${input.path} is ${about.size} bytes; the limit is ${largestFile}.`);
        }
        const bytes = await readFile(file);
        if (bytes.subarray(0, 8_000).includes(0)) throw new ToolError(`${input.path} is not a text file.`);
        return bytes.toString('utf8');
      },
    },
    search_text: {
      description: 'Finds the lines in text files that contain a given text, ignoring case.',
      inputSchema: z.object({ text: z.string().min(1) }),
      execute: async ({ text }: { text: string }) => {
        const home = await inside('.');
        const matches: { file: string; line: number; text: string }[] = [];
        for (const file of await textFiles(home)) {
          const lines = (await readFile(file, 'utf8')).split('\n');
          for (const [index, line] of lines.entries()) {
            if (!line.toLowerCase().includes(text.toLowerCase())) continue;
            matches.push({ file: relative(home, file), line: index + 1, text: line.trim().slice(0, 200) });
            if (matches.length === mostMatches) return matches;
          }
        }
        return matches;
      },
    },
  };
}

/** Lists the text files below `folder`: at most `mostEntries` files of at most 1,000,000 bytes each. */
async function textFiles(folder: string, found: string[] = []): Promise<string[]> {
  // An unreadable folder counts as empty.
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (found.length >= mostEntries) return found;
    const full = join(folder, entry.name);
    if (entry.isDirectory() && !skipped.has(entry.name)) await textFiles(full, found);
    else if (entry.isFile() && /\.(md|txt|ts|js|json|ya?ml|toml|html|css|py|rs|go|java|c|h)$/.test(entry.name)) {
      if ((await stat(full)).size <= 1_000_000) found.push(full);
    }
  }
  return found;
}
