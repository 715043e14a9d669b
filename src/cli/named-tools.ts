import { shown } from '../errors.ts';
import type { LocalTool } from '../tools/local.ts';
import { fileTools } from '../workspace/file-tools.ts';
import { shellTool } from '../workspace/shell-tool.ts';

/** Where the tools that an agent file names work, and what they may do unasked. */
export type Workplace = {
  /** The directory of the files and commands. */
  root: string;
  /** The commands that need no approval. */
  commands: readonly string[];
  /** Files whose writes need approval, as patterns, besides those that are always protected. */
  except: readonly string[];
};

/**
 * Files that decide what agents are and may do, or that other programs run: no agent writes them without approval, whatever
 * its own file says.
 */
const protectedFiles = ['**/.claude/**', '**/.agent-config.json', '**/.husky/**', '**/.git*'];

const commandTool = 'run_command';

/** The names by which Claude Code's agent files know tools, and the tools of Pawl that do the same. */
const toolNames: Record<string, string> = {
  Read: 'read_file',
  LS: 'list_directory',
  Glob: 'find_files',
  Grep: 'search_text',
  Write: 'write_file',
  Edit: 'edit_file',
  MultiEdit: 'edit_file',
  Bash: commandTool,
};

/** A name, and what it is limited to: `Bash(npm test:*)`, `Edit(docs/**)`. */
const namePattern = /^(\w+)(?:\((.*)\))?$/s;

/** Returns the entries of a list of tools, which may be one text: `Read, Edit, Bash(git diff:*, git log)`. */
export function toolList(given: unknown): unknown[] {
  const entries = [given ?? []].flat();
  return entries.flatMap((entry) =>
    typeof entry === 'string' ? entry.split(/,(?![^(]*\))/).map((name) => name.trim()) : [entry],
  );
}

/** Whether an entry is the path of a module and not a name. */
export function isModulePath(entry: string): boolean {
  return /^[./]|\.(?:ts|mts|js|mjs)$/.test(entry);
}

/**
 * Returns the tools of these names; null for all. To name `Write` or `Edit` allows all writes in the directory;
 * commands need approval unless they are allowed by name. `unknown` gets the names without a counterpart.
 */
export function namedTools(
  names: readonly string[] | null,
  { root, commands, except }: Workplace,
  unknown: (name: string) => void,
): Record<string, LocalTool> {
  const wanted = names === null || names.includes('*') ? Object.keys(toolNames) : names;
  const writes: string[] = [];
  const allowed = [...commands];
  const own = new Set<string>();
  for (const entry of wanted) {
    const [, name = '', limit] = namePattern.exec(entry) ?? [];
    const tool = Object.hasOwn(toolNames, name) ? toolNames[name] : undefined;
    const isLimited = limit !== undefined && limit.trim() !== '' && limit.trim() !== '*';
    const takesLimits = [commandTool, 'write_file', 'edit_file'].some((one) => one === tool);
    if (tool === undefined || (isLimited && !takesLimits)) {
      unknown(shown(entry));
      continue;
    }
    own.add(tool);
    const limits = (limit ?? '').split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]));
    if (tool === commandTool) allowed.push(...limits);
    if (tool === 'write_file' || tool === 'edit_file') writes.push(...(limits.length === 0 ? ['**'] : limits));
  }
  const all: Record<string, unknown> = {
    ...fileTools(root, { allow: writes, except: [...protectedFiles, ...except] }),
    [commandTool]: shellTool({ cwd: root, allow: allowed }),
  };
  return Object.fromEntries([...own].map((name) => [name, all[name] as LocalTool]));
}

/** The model aliases of Claude Code's agent files. */
const modelNames: Record<string, string> = {
  sonnet: 'anthropic:claude-sonnet-4-5',
  opus: 'anthropic:claude-opus-4-1',
  haiku: 'anthropic:claude-haiku-4-5',
};

/** Returns the models of a file that names one: by a word, by its id, or as `provider:id`. Null for an unknown word. */
export function namedModels(name: string, own: Readonly<Record<string, string>>): string[] | null {
  // `opus[1m]` names a variant of its context window.
  const word = name.replace(/\[.*\]$/, '');
  if (word === 'inherit' || word === '') return [];
  const table = Object.entries({ ...modelNames, ...own });
  const found = table.find(([one]) => one === word)?.[1];
  const known = found ?? (word.startsWith('claude-') ? `anthropic:${word}` : word);
  return known.includes(':') ? [known] : null;
}
