import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { PawlError, reasonOf, shown } from '../input/errors.ts';
import { isRecord } from '../platform/plain-json.ts';
import { namesSecret } from '../secrets/credential-names.ts';
import { shortestSecret } from '../secrets/spellings.ts';
import { isModulePath, toolList } from './named-tools.ts';

/** An agent file in Markdown: its front matter, and the text below it. */
export type Document = { matter: Record<string, unknown>; body: string };

type Read = (path: string) => Document;

/**
 * Reads an agent file with those that it `extends`, and with the environment's values in the place of `${NAME}`. Objects of
 * the front matter are joined field by field; anything else is the extending file's; the texts follow each other. Throws
 * `invalid_agent_file`.
 */
export function layered(path: string, read: Read): Document {
  const { matter, body } = withBases(path, read, []);
  const secrets = new Set<string>();
  const filled = filledIn(matter, '', path, secrets) as Record<string, unknown>;
  if (secrets.size === 0) return { matter: filled, body };
  const own = Array.isArray(filled.secrets) ? filled.secrets : [];
  return { matter: { ...filled, secrets: [...own, ...secrets] }, body };
}

/** Sets the variables of a file, but for those that are set. Throws `invalid_options`. */
export function readEnvironmentFile(file: string): void {
  try {
    for (const [name, value] of Object.entries(parseEnv(readFileSync(file, 'utf8')))) process.env[name] ??= value;
  } catch (error) {
    throw new PawlError('invalid_options', `The environment file ${file} cannot be read: ${reasonOf(error)}.`);
  }
}

function withBases(path: string, read: Read, above: readonly string[]): Document {
  if (above.includes(path)) {
    const chain = [...above.slice(above.indexOf(path)), path].join(' extends ');
    throw invalid(path, `extends itself: ${chain}`);
  }
  const { matter, body } = read(path);
  const { extends: bases, ...own } = matter;
  const paths = bases === undefined ? [] : Array.isArray(bases) ? bases : [bases];
  const layers = paths.map((base) => {
    if (typeof base !== 'string' || !base.endsWith('.md'))
      throw invalid(path, `must name in \`extends\` the path of a .md file, or several; got ${shown(base)}`);
    return withBases(resolve(dirname(path), base), read, [...above, path]);
  });
  const all = [...layers, { matter: withWholePaths(own, path, above.length > 0), body }];
  return {
    matter: all.map((layer) => layer.matter).reduce(together, {}),
    body: all.flatMap((layer) => (layer.body === '' ? [] : [layer.body])).join('\n\n'),
  };
}

/** The paths of tool modules are relative to their own file. */
function withWholePaths(matter: Record<string, unknown>, path: string, isBase: boolean): Record<string, unknown> {
  if (!isBase || matter.tools == null) return matter;
  const whole = (tool: unknown) =>
    typeof tool === 'string' && isModulePath(tool) ? resolve(dirname(path), tool) : tool;
  return { ...matter, tools: toolList(matter.tools).map(whole) };
}

function together(base: Record<string, unknown>, own: Record<string, unknown>): Record<string, unknown> {
  const joinedFields = Object.entries(own).map(([name, value]) => {
    const before = base[name];
    return [name, isRecord(before) && isRecord(value) ? together(before, value) : value];
  });
  return { ...base, ...Object.fromEntries(joinedFields) };
}

function filledIn(value: unknown, field: string, path: string, secrets: Set<string>): unknown {
  if (typeof value === 'string') return filledText(value, field, path, secrets);
  if (Array.isArray(value)) return value.map((one, index) => filledIn(one, `${field}[${index}]`, path, secrets));
  if (!isRecord(value)) return value;
  const inner = (name: string) => (field === '' ? name : `${field}.${name}`);
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, filledIn(one, inner(name), path, secrets)]),
  );
}

/** `${NAME}`, or `${NAME:-otherwise}`; `$${` stands for itself. */
const reference = /\$(\$\{)|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g;

function filledText(text: string, field: string, path: string, secrets: Set<string>): string {
  return text.replaceAll(reference, (_, escaped?: string, name = '', otherwise?: string) => {
    if (escaped !== undefined) return escaped;
    const found = process.env[name] ?? '';
    const value = found === '' ? otherwise : found;
    if (value === undefined) throw invalid(path, `needs the variable ${name} for \`${field}\`, which is not set`);
    if (namesSecret(name) && value.length >= shortestSecret) secrets.add(value);
    return value;
  });
}

function invalid(file: string, problem: string): PawlError {
  return new PawlError('invalid_agent_file', `The agent file ${file} ${problem}.`);
}
