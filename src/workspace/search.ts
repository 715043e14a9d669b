import { z } from 'zod';
import { isOpenDatabase } from '../journal/open-databases.ts';
import { runBounded, wasEnded } from '../schema/bounded-check.ts';
import { linearPattern } from '../schema/linear-pattern.ts';
import { ToolError } from '../vocabulary/tool-error.ts';
import { isGlob, mostAlternatives } from './globs.ts';
import { inside } from './inside.ts';
import { withFile } from './opened.ts';

const largestSearched = 1_000_000;

export const tooMany = { error: `a pattern of at most ${mostAlternatives} alternatives` };
export const glob = z.string().min(1).max(200).refine(isGlob, tooMany);
export const searchSchema = z
  .object({
    text: z.string().min(1).max(1_000).optional().describe('A text that the line contains; its case does not matter.'),
    pattern: z.string().min(1).max(1_000).optional().describe('A regular expression that matches in the line.'),
    files: glob.optional().describe('Which files to search, such as "src/**/*.ts". Default: all.'),
  })
  .refine(({ text, pattern }) => (text === undefined) !== (pattern === undefined), {
    error: 'either `text` or `pattern`',
  });

export type Search = z.infer<typeof searchSchema>;

/** How long a pattern may be searched for in one file, in ms: its time grows with its own size, too. */
const searchMs = 250;

/**
 * Returns what finds the indices of the lines that are searched for, at most so many. Throws a `ToolError` for a pattern that
 * cannot be searched for.
 */
export function linesFinder({ text, pattern }: Search) {
  const found = (lines: readonly string[], most: number, isWanted: (line: string) => boolean) => {
    const indices: number[] = [];
    for (const [index, one] of lines.entries()) {
      if (indices.length < most && isWanted(one)) indices.push(index);
    }
    return indices;
  };
  if (pattern === undefined) {
    const wanted = (text ?? '').toLowerCase();
    return (lines: readonly string[], most: number) => found(lines, most, (one) => one.toLowerCase().includes(wanted));
  }
  const expression = linearPattern(pattern);
  // Another engine could run without end.
  if (expression === null)
    throw new ToolError(
      `${pattern} is no regular expression that can be searched for: no lookaround or backreference.`,
    );
  return (lines: readonly string[], most: number) => {
    try {
      return runBounded(searchMs, () => found(lines, most, (one) => expression.test(one)));
    } catch (error) {
      if (!wasEnded(error)) throw error;
      throw new ToolError(`${pattern} takes too long to search for. Make it simpler, or search for a text.`);
    }
  };
}

/** Returns the lines of a text file; an empty list for a binary file; null if the file is too long or unreadable. */
export async function searchedLines(root: string, name: string): Promise<string[] | null> {
  try {
    if (isOpenDatabase(await inside(root, name))) return [];
    return await withFile(
      name,
      'read',
      () => inside(root, name),
      async (opened, size) => {
        if (size > largestSearched) return null;
        const bytes = await opened.readFile();
        return isBinary(bytes) ? [] : bytes.toString('utf8').split(/\r?\n/);
      },
    );
  } catch {
    return null;
  }
}

/** Whether the beginning of a file says that it holds no text. */
export function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, 8_000).includes(0);
}
