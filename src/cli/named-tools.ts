import { shown } from '../input/errors.ts';
import type { LocalTool } from '../tools/local.ts';
import { fileTools } from '../workspace/file-tools.ts';
import { shellTool } from '../workspace/shell-tool.ts';

/** The directory and the permissions of the tools that an agent file names. */
export type Workplace = {
  /** The directory of the files and commands. */
  root: string;
  /** The commands that need no approval. */
  commands: readonly string[];
  /** Patterns of files whose writes need approval, in addition to the files that are always protected. */
  except: readonly string[];
};

/**
 * Files that define agents and their permissions, or that other programs execute. Writing them always needs approval.
 */
const protectedFiles = ['**/.claude/**', '**/.agent-config.json', '**/.husky/**', '**/.git*'];

const commandTool = 'run_command';

/** Claude Code's names for tools, and the corresponding tools of Pawl. */
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

/** Returns the tool of an entry such as `Read`, if there is one, and its limits: `Bash(npm test:*)`, `Edit(docs/**)`. */
export function namedTool(entry: string): { tool: string | null; limits: string[] } {
  const [, name = '', given = ''] = /^(\w+)(?:\((.*)\))?$/s.exec(entry) ?? [];
  // A comma in braces does not separate: `*.{ts,tsx}`.
  const limits = given.split(/,(?![^{]*\})/).flatMap((one) => (one.trim() === '' ? [] : [one.trim()]));
  return { tool: Object.hasOwn(toolNames, name) ? (toolNames[name] ?? null) : null, limits };
}

export function isLimited(limits: readonly string[]): boolean {
  return limits.some((limit) => limit !== '*');
}

/** Returns the entries of a list of tools, or of a comma-separated text: `Read, Edit, Bash(git diff:*, git log)`. */
export function toolList(given: unknown): unknown[] {
  const entries = [given ?? []].flat();
  return entries.flatMap((entry) =>
    typeof entry === 'string' ? entry.split(/,(?![^(]*\))/).map((name) => name.trim()) : [entry],
  );
}

/** Whether an entry is the path of a module rather than a name. */
export function isModulePath(entry: string): boolean {
  return /^[./]|\.(?:ts|mts|js|mjs)$/.test(entry);
}

/**
 * Returns the named tools, or all tools if `names` is null. `Write` and `Edit` permit writes in the whole directory unless
 * they have a limit. A command requires approval if neither a limit nor `commands` allows it. `unknown` is called with
 * each name that has no counterpart.
 */
export function namedTools(
  names: readonly string[] | null,
  { root, commands, except }: Workplace,
  unknown: (name: string) => void,
): Record<string, LocalTool> {
  const wanted = names === null || names.includes('*') ? Object.keys(toolNames) : names;
  /** The limits of each tool. */
  const own = new Map<string, string[]>();
  for (const entry of wanted) {
    const { tool, limits } = namedTool(entry);
    const takesLimits = [commandTool, 'write_file', 'edit_file'].some((one) => one === tool);
    if (tool === null || (isLimited(limits) && !takesLimits)) {
      unknown(shown(entry));
      continue;
    }
    const isCommand = tool === commandTool;
    own.set(tool, [...(own.get(tool) ?? []), ...(limits.length === 0 && !isCommand ? ['**'] : limits)]);
  }
  const files = fileTools(root);
  const limited = (allow: string[] = []) => fileTools(root, { allow, except: [...protectedFiles, ...except] });
  const { write_file: write, edit_file: edit } = files;
  const all: Record<string, unknown> = {
    // From one instance, so that the two tools never write at the same time.
    ...files,
    write_file: { ...write, needsApproval: limited(own.get('write_file')).write_file.needsApproval },
    edit_file: { ...edit, needsApproval: limited(own.get('edit_file')).edit_file.needsApproval },
    [commandTool]: shellTool({ cwd: root, allow: [...commands, ...(own.get(commandTool) ?? [])] }),
  };
  return Object.fromEntries([...own.keys()].map((name) => [name, all[name] as LocalTool]));
}

/** The model aliases of Claude Code's agent files. */
const modelNames: Record<string, string> = {
  sonnet: 'anthropic:claude-sonnet-4-5',
  opus: 'anthropic:claude-opus-4-1',
  haiku: 'anthropic:claude-haiku-4-5',
};

/** Returns the models for an alias, a model id or `provider:id`; null for an unknown alias. */
export function namedModels(name: string, own: Readonly<Record<string, string>>): string[] | null {
  // `opus[1m]` names a variant of its context window.
  const word = name.replace(/\[.*\]$/, '');
  if (word === 'inherit' || word === '') return [];
  const table = Object.entries({ ...modelNames, ...own });
  const found = table.find(([one]) => one === word)?.[1];
  const known = found ?? (word.startsWith('claude-') ? `anthropic:${word}` : word);
  return known.includes(':') ? [known] : null;
}
