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
};

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
  { root, commands }: Workplace,
  unknown: (name: string) => void,
): Record<string, LocalTool> {
  const wanted = names ?? Object.keys(toolNames);
  const writes: string[] = [];
  const allowed = [...commands];
  const own = new Set<string>();
  for (const entry of wanted) {
    const [, name = '', limit] = namePattern.exec(entry) ?? [];
    const tool = toolNames[name];
    if (tool === undefined) {
      unknown(shown(entry));
      continue;
    }
    own.add(tool);
    const limits = (limit ?? '').split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]));
    if (tool === commandTool) allowed.push(...limits);
    if (tool === 'write_file' || tool === 'edit_file') writes.push(...(limits.length === 0 ? ['**'] : limits));
  }
  const all: Record<string, unknown> = {
    ...fileTools(root, { allow: writes }),
    [commandTool]: shellTool({ cwd: root, allow: allowed }),
  };
  return Object.fromEntries([...own].map((name) => [name, all[name] as LocalTool]));
}

/** The models that Claude Code's agent files name by a word. */
const modelNames: Record<string, string> = {
  sonnet: 'anthropic:claude-sonnet-4-5',
  opus: 'anthropic:claude-opus-4-1',
  haiku: 'anthropic:claude-haiku-4-5',
};

/** Returns the models of a file that names one: by a word, by its id, or as `provider:id`. Null for an unknown word. */
export function namedModels(name: string, own: Readonly<Record<string, string>>): string[] | null {
  if (name === 'inherit' || name === '') return [];
  const known = own[name] ?? modelNames[name] ?? (name.startsWith('claude-') ? `anthropic:${name}` : name);
  return known.includes(':') ? [known] : null;
}
