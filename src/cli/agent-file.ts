import { readFileSync } from 'node:fs';
import { dirname, extname, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseDocument, visit } from 'yaml';
import { type AgentDefinition, definitionSchema, isAgent } from '../agent/definition.ts';
import { given, messageOf, PawlError, shown } from '../input/errors.ts';
import { isRecord } from '../platform/plain-json.ts';
import { redact } from '../secrets/redact.ts';
import type { LocalTool } from '../tools/local.ts';
import { globOf } from '../workspace/globs.ts';
import { type Document, layered, Unquoted } from './layers.ts';
import {
  isLimited,
  isModulePath,
  namedModels,
  namedTool,
  namedTools,
  toolList,
  type Workplace,
} from './named-tools.ts';

/** Settings that an agent file does not contain. */
export type AgentSurroundings = Workplace & {
  /** The directory of the project. `root` may be the work tree of an item instead. */
  project: string;
  /** Model aliases in addition to the built-in ones. */
  models: Readonly<Record<string, string>>;
  /** Reports a part of the file that is ignored. */
  note: (text: string) => void;
};

const nowhereElse = (): AgentSurroundings => ({
  root: process.cwd(),
  project: process.cwd(),
  commands: [],
  except: [],
  models: {},
  note: (text) => process.stderr.write(`pawl: ${text}\n`),
});

/** What an agent file and its tool modules contain. Later changes of the files do not matter. */
export type AgentSource = {
  /** Whether the definition, or a tool module, is the same for every work tree. */
  isFixed: boolean;
  definition(surroundings: AgentSurroundings): Promise<AgentDefinition>;
};

/**
 * Reads an agent file. It is a module whose default export is an agent, a definition or a function of `{ root }` that
 * returns one; or Markdown with the definition as front matter and the instructions as body. In Markdown, `tools` lists
 * the paths of tool modules, or names as in Claude Code's agent files, such as `Read` and `Bash`. A tool module exports
 * the tools, or a function of `{ root }` that returns them. `extends` names other Markdown files, and `${NAME}` is a
 * variable of the environment (`layered`).
 */
export async function agentSource(file: string): Promise<AgentSource> {
  const path = resolve(file);
  switch (extname(path)) {
    case '.ts':
    case '.mts':
    case '.js':
    case '.mjs': {
      const exported = (await load(path)).default;
      const isFixed = typeof exported !== 'function';
      return {
        isFixed,
        definition: async ({ root }) => exportedIn(path, isFixed ? exported : await called(path, exported, root)),
      };
    }
    case '.md': {
      const { found, ...document } = isClaudeAgent(path)
        ? { ...documentAt(path), found: [] }
        : layered(path, documentAt);
      const modules = toolList(document.matter.tools).filter(isToolModule);
      // Modules are loaded once, so this is what the definition gets.
      const exported = await Promise.all(modules.map((module) => exportedTools(path, module)));
      const isFixed = exported.some((tools) => typeof tools !== 'function');
      return {
        isFixed,
        definition: (surroundings) => cleanly(found, surroundings, (own) => markdownDefinition(path, document, own)),
      };
    }
    default:
      throw invalid(file, 'must end in .ts, .mts, .js, .mjs or .md');
  }
}

/** Keeps the secrets of the environment out of what is said of a file (S-5). */
async function cleanly<Value>(
  secrets: readonly string[],
  surroundings: AgentSurroundings,
  read: (surroundings: AgentSurroundings) => Promise<Value>,
): Promise<Value> {
  try {
    return await read({ ...surroundings, note: (text) => surroundings.note(redact(text, secrets)) });
  } catch (error) {
    if (!(error instanceof PawlError) || secrets.length === 0) throw error;
    throw new PawlError(error.code, redact(error.message, secrets));
  }
}

/** Returns the definition in an agent file. */
export async function readAgentFile(file: string, surroundings = nowhereElse()): Promise<AgentDefinition> {
  return (await agentSource(file)).definition(surroundings);
}

function exportedIn(path: string, exported: unknown): AgentDefinition {
  if (typeof exported !== 'object' || exported === null) {
    throw invalid(
      path,
      `must have an agent, a definition or a function of { root } as its default export; got ${given(exported)}`,
    );
  }
  return isAgent(exported) ? exported.definition : (exported as AgentDefinition);
}

/** The tools that plan mode removes. */
const actingTools = ['Write', 'Edit', 'Bash'];

function documentAt(path: string): Document {
  const text = read(path);
  const match = /^\uFEFF?---\r?\n(?:(.*?)\r?\n)?---[ \t]*(?:\r?\n(.*))?$/s.exec(text);
  if (match === null) throw invalid(path, 'must start with front matter between two lines of ---');
  return { matter: frontMatter(path, match[1] ?? ''), body: (match[2] ?? '').trim() };
}

async function markdownDefinition(
  path: string,
  { matter, body: instructions }: Document,
  surroundings: AgentSurroundings,
): Promise<AgentDefinition> {
  const { tools, disallowedTools, model, maxTurns, permissionMode, ...given } = matter;
  const isClaude = isClaudeAgent(path) || ['model', 'color', 'permissionMode'].some((name) => name in matter);
  const rest = isClaude ? ownFields(path, given, surroundings) : given;
  if (model !== undefined) rest.models = modelsOf(path, model, rest.models, surroundings);
  if (maxTurns !== undefined) rest.limits = { ...Object(rest.limits), maxTurns };
  // Claude Code gives an agent without a list all tools.
  const names = (tools === undefined || tools === null) && isClaudeAgent(path) ? null : toolList(tools);
  const forbidden = [...toolList(disallowedTools), ...(permissionMode === 'plan' ? actingTools : [])];
  const loaded = await toolsOf(path, names, forbidden, surroundings);
  if (instructions !== '' && rest.instructions !== undefined) {
    throw invalid(path, 'must have its instructions in the front matter or in the body, not in both');
  }
  return { ...rest, ...(instructions !== '' && { instructions }), tools: loaded } as unknown as AgentDefinition;
}

/** Returns the fields of a definition, and reports the other fields of a Claude Code agent file. */
function ownFields(path: string, given: Record<string, unknown>, { note }: AgentSurroundings): Record<string, unknown> {
  // In Claude Code, `mcpServers` is a list of names.
  const isOwn = ([name, value]: [string, unknown]) =>
    Object.hasOwn(definitionSchema.shape, name) && !(name === 'mcpServers' && Array.isArray(value));
  const foreign = Object.entries(given).filter((field) => !isOwn(field) && field[0] !== 'color');
  if (foreign.length > 0)
    note(`${path} has ${foreign.map(([name]) => name).join(', ')}, which Pawl does not support; ignored.`);
  return Object.fromEntries(Object.entries(given).filter(isOwn));
}

function isClaudeAgent(path: string): boolean {
  return /[\\/]\.claude[\\/]agents[\\/]/.test(path);
}

function modelsOf(path: string, model: unknown, models: unknown, { models: own }: AgentSurroundings): string[] {
  if (models !== undefined) throw invalid(path, 'must have `model` or `models`, not both');
  const found = typeof model === 'string' || model === null ? namedModels((model ?? '').trim(), own) : null;
  if (found === null)
    throw invalid(path, `must name its model as provider:id, or sonnet, opus, haiku; got ${shown(model)}`);
  return found;
}

async function toolsOf(
  path: string,
  entries: readonly unknown[] | null,
  forbidden: readonly unknown[],
  { note, project, ...workplace }: AgentSurroundings,
): Promise<Record<string, LocalTool>> {
  const modules = (entries ?? []).filter(isToolModule);
  const names = entries?.filter((entry): entry is string => typeof entry === 'string' && !isModulePath(entry)) ?? null;
  const unknown = (name: string) => note(`${path} names the tool ${name}, which has no counterpart; ignored.`);
  const own = modules.filter((one) => typeof one === 'string').map((one) => resolve(dirname(path), one));
  const except = [...workplace.except, ...own.map((file) => globOf(relative(project, file).split(sep).join('/')))];
  const tools = namedTools(names, { ...workplace, except }, unknown);
  for (const entry of forbidden.map(String)) {
    if (entry === '*') for (const name of Object.keys(tools)) delete tools[name];
    const { tool, limits } = namedTool(entry);
    if (tool === null || !(tool in tools)) continue;
    if (isLimited(limits))
      note(`${path} disallows ${entry}. Parts of a tool cannot be disallowed: ${tool} is left out.`);
    delete tools[tool];
  }
  for (const tool of modules) Object.assign(tools, await toolModule(path, tool, workplace.root));
  return tools;
}

function frontMatter(path: string, text: string): Record<string, unknown> {
  let matter: unknown;
  try {
    const document = parseDocument(text, { logLevel: 'silent' });
    // What YAML only warns of, such as an unknown tag, would be left out.
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw problem;
    if (!isClaudeAgent(path))
      visit(document, {
        Scalar: (key, node) => {
          const { type, value } = node;
          if (key !== 'key' && type === 'PLAIN' && typeof value === 'string' && Unquoted.is(value))
            node.value = new Unquoted(value);
        },
      });
    matter = document.toJS();
  } catch (error) {
    // Claude Code reads line by line, and generated descriptions are often invalid YAML.
    matter = isClaudeAgent(path) ? linesOf(text) : null;
    if (matter === null)
      throw invalid(path, `has invalid YAML in its front matter: ${messageOf(error).split('\n')[0]}`);
  }
  if (!isRecord(matter)) {
    throw invalid(path, 'must have a YAML mapping as its front matter');
  }
  return { ...matter };
}

/**
 * Parses `name: value` lines. Other lines continue the value above them, or list its entries. Returns null if no line has
 * a name.
 */
function linesOf(text: string): Record<string, string | string[]> | null {
  const fields: Record<string, string> = {};
  let last: string | null = null;
  for (const line of text.split(/\r?\n/)) {
    const [, name, value = ''] = /^([A-Za-z][\w-]*):(?:\s+(.*))?$/.exec(line) ?? [];
    if (name !== undefined) fields[name] = value.trim();
    else if (last !== null) fields[last] = `${fields[last]}\n${line}`;
    last = name ?? last;
  }
  if (last === null) return null;
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, listIn(value) ?? unquoted(value)]));
}

/** Returns the entries of a text that is a list of `- entry` lines; null for any other text. */
function listIn(text: string): string[] | null {
  const [first, ...all] = text.split('\n');
  const lines = all.filter((line) => !/^\s*(?:#|$)/.test(line));
  const entries = lines.flatMap((line) => /^\s*-\s+(.*?)\s*$/.exec(line)?.slice(1) ?? []);
  return first === '' && lines.length > 0 && entries.length === lines.length ? entries.map(unquoted) : null;
}

function unquoted(text: string): string {
  return /^(["'])((?:(?!\1).)*)\1$/s.exec(text)?.[2] ?? text;
}

/** Anything in a list of tools that is no name. */
function isToolModule(entry: unknown): boolean {
  return typeof entry !== 'string' || isModulePath(entry);
}

async function exportedTools(agentPath: string, tool: unknown): Promise<unknown> {
  if (typeof tool !== 'string') throw invalid(agentPath, `must list its tools as module paths; got ${shown(tool)}`);
  const loaded = await load(resolve(dirname(agentPath), tool));
  return loaded.default ?? loaded;
}

async function toolModule(agentPath: string, tool: unknown, root: string): Promise<Record<string, LocalTool>> {
  const exported = await exportedTools(agentPath, tool);
  const path = resolve(dirname(agentPath), String(tool));
  const tools: unknown = typeof exported === 'function' ? await called(path, exported, root) : exported;
  if (typeof tools !== 'object' || tools === null) throw invalid(path, 'does not export any tools');
  return { ...tools } as Record<string, LocalTool>;
}

async function called(path: string, exported: unknown, root: string): Promise<unknown> {
  try {
    return await (exported as (given: { root: string }) => unknown)({ root });
  } catch (error) {
    throw invalid(path, `exports a function that failed: ${messageOf(error)}`);
  }
}

async function load(path: string): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    throw invalid(path, `could not be loaded: ${messageOf(error)}`);
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw invalid(path, `could not be read: ${messageOf(error)}`);
  }
}

function invalid(file: string, problem: string): PawlError {
  return new PawlError('invalid_agent_file', `The agent file ${file} ${problem}.`);
}
