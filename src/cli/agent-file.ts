import { readFileSync } from 'node:fs';
import { dirname, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import type { AgentDefinition } from '../agent-definition.ts';
import { messageOf, PawlError, shown } from '../errors.ts';
import type { LocalTool } from '../tools/local.ts';

/**
 * The definition in an agent file: a module whose default export is an agent or a definition, or Markdown whose front
 * matter is the definition (`tools` names modules of tools, by path) and whose body is the instructions.
 */
export async function readAgentFile(file: string): Promise<AgentDefinition> {
  const path = resolve(file);
  switch (extname(path)) {
    case '.ts':
    case '.mts':
    case '.js':
    case '.mjs':
      return moduleDefinition(path);
    case '.md':
      return markdownDefinition(path);
    default:
      throw invalid(file, 'is of no known kind: .ts, .mts, .js, .mjs and .md are allowed');
  }
}

async function moduleDefinition(path: string): Promise<AgentDefinition> {
  const exported = (await load(path)).default;
  if (typeof exported !== 'object' || exported === null) {
    throw invalid(path, `has the default export ${shown(exported)}: an agent or a definition is allowed`);
  }
  return ('definition' in exported ? exported.definition : exported) as AgentDefinition;
}

async function markdownDefinition(path: string): Promise<AgentDefinition> {
  const match = /^\uFEFF?---\r?\n(?:(.*?)\r?\n)?---[ \t]*(?:\r?\n(.*))?$/s.exec(read(path));
  if (match === null) throw invalid(path, 'does not start with front matter between two lines of ---');
  const matter = frontMatter(path, match[1] ?? '');
  const { tools, ...rest } = matter;
  const paths = tools === undefined ? [] : [tools].flat();
  const loaded: Record<string, LocalTool> = {};
  for (const tool of paths) Object.assign(loaded, await toolModule(path, tool));
  const instructions = (match[2] ?? '').trim();
  if (instructions !== '' && rest.instructions !== undefined) {
    throw invalid(path, 'has instructions both in its front matter and as its body: one of them is allowed');
  }
  return { ...rest, ...(instructions !== '' && { instructions }), tools: loaded } as unknown as AgentDefinition;
}

function frontMatter(path: string, text: string): Record<string, unknown> {
  let matter: unknown;
  try {
    matter = parse(text);
  } catch (error) {
    throw invalid(path, `has front matter that is not YAML: ${messageOf(error).split('\n')[0]}`);
  }
  if (typeof matter !== 'object' || matter === null || Array.isArray(matter)) {
    throw invalid(path, 'has front matter that is not a list of fields');
  }
  return { ...matter };
}

async function toolModule(agentPath: string, tool: unknown): Promise<Record<string, LocalTool>> {
  if (typeof tool !== 'string')
    throw invalid(agentPath, `names the tools ${shown(tool)}: paths of modules are allowed`);
  const path = resolve(dirname(agentPath), tool);
  const loaded = await load(path);
  const tools = loaded.default ?? loaded;
  if (typeof tools !== 'object' || tools === null) throw invalid(path, 'exports no tools');
  return { ...tools } as Record<string, LocalTool>;
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
