import { readFileSync } from 'node:fs';
import { dirname, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import { type AgentDefinition, isAgent } from '../agent/definition.ts';
import { messageOf, PawlError, shown } from '../errors.ts';
import type { LocalTool } from '../tools/local.ts';

/**
 * Returns the definition in an agent file. The file is a module whose default export is an agent or a definition, or
 * Markdown with the definition as front matter and the instructions as body. `tools` lists the paths of tool modules.
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
      throw invalid(file, 'must end in .ts, .mts, .js, .mjs or .md');
  }
}

async function moduleDefinition(path: string): Promise<AgentDefinition> {
  const exported = (await load(path)).default;
  if (typeof exported !== 'object' || exported === null) {
    throw invalid(path, `must have an agent or a definition as its default export; got ${shown(exported)}`);
  }
  return isAgent(exported) ? exported.definition : (exported as AgentDefinition);
}

async function markdownDefinition(path: string): Promise<AgentDefinition> {
  const match = /^\uFEFF?---\r?\n(?:(.*?)\r?\n)?---[ \t]*(?:\r?\n(.*))?$/s.exec(read(path));
  if (match === null) throw invalid(path, 'must start with front matter between two lines of ---');
  const matter = frontMatter(path, match[1] ?? '');
  const { tools, ...rest } = matter;
  const paths = tools === undefined ? [] : [tools].flat();
  const loaded: Record<string, LocalTool> = {};
  for (const tool of paths) Object.assign(loaded, await toolModule(path, tool));
  const instructions = (match[2] ?? '').trim();
  if (instructions !== '' && rest.instructions !== undefined) {
    throw invalid(path, 'must have its instructions in the front matter or in the body, not in both');
  }
  return { ...rest, ...(instructions !== '' && { instructions }), tools: loaded } as unknown as AgentDefinition;
}

function frontMatter(path: string, text: string): Record<string, unknown> {
  let matter: unknown;
  try {
    matter = parse(text);
  } catch (error) {
    throw invalid(path, `has invalid YAML in its front matter: ${messageOf(error).split('\n')[0]}`);
  }
  if (typeof matter !== 'object' || matter === null || Array.isArray(matter)) {
    throw invalid(path, 'must have a YAML mapping as its front matter');
  }
  return { ...matter };
}

async function toolModule(agentPath: string, tool: unknown): Promise<Record<string, LocalTool>> {
  if (typeof tool !== 'string') throw invalid(agentPath, `must list its tools as module paths; got ${shown(tool)}`);
  const path = resolve(dirname(agentPath), tool);
  const loaded = await load(path);
  const tools = loaded.default ?? loaded;
  if (typeof tools !== 'object' || tools === null) throw invalid(path, 'does not export any tools');
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
