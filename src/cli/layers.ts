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

/** A variable that stands alone in the front matter, without quotes: its value may be a number or a switch. */
export class Unquoted {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  static is(text: string): boolean {
    return /^\$\{[^}]*\}$/.test(text);
  }
}

/**
 * Reads an agent file with those that it `extends`, and with the environment's values in the place of `${NAME}`. Objects of
 * the front matter are joined field by field; anything else is the extending file's; the texts follow each other. Throws
 * `invalid_agent_file`.
 */
export function layered(path: string, read: Read): Document & { found: readonly string[] } {
  const secrets = new Set<string>();
  const { matter, body } = together(layersOf(path, read, [], secrets, new Set()));
  const { secrets: own } = matter;
  const found = [...secrets];
  // Anything else there is refused later.
  if (found.length === 0 || (own !== undefined && !Array.isArray(own))) return { matter, body, found };
  return { matter: { ...matter, secrets: [...(own ?? []), ...found] }, body, found };
}

/** Sets the variables in a file that the environment does not set already, or sets to an empty text. Throws `invalid_options`. */
export function readEnvironmentFile(file: string): void {
  try {
    for (const [name, value] of Object.entries(parseEnv(readFileSync(file, 'utf8')))) process.env[name] ||= value;
  } catch (error) {
    throw new PawlError('invalid_options', `The environment file ${file} cannot be read: ${reasonOf(error)}.`);
  }
}

/** The files, those that are extended first; each once, where it is first extended. */
function layersOf(
  path: string,
  read: Read,
  above: readonly string[],
  secrets: Set<string>,
  seen: Set<string>,
): Document[] {
  if (above.includes(path)) {
    const chain = [...above.slice(above.indexOf(path)), path].join(' extends ');
    throw invalid(path, `extends itself: ${chain}`);
  }
  if (seen.has(path)) return [];
  seen.add(path);
  const { matter, body } = read(path);
  const { extends: bases, ...given } = matter;
  const own = filledIn(given, '', path, secrets) as Record<string, unknown>;
  const paths: unknown[] = bases === undefined ? [] : Array.isArray(bases) ? bases : [bases];
  const layers = paths.flatMap((base) => {
    if (typeof base !== 'string' || !base.endsWith('.md')) {
      const got = shown(base instanceof Unquoted ? base.text : base);
      throw invalid(path, `must name in \`extends\` the path of a .md file, or several; got ${got}`);
    }
    return layersOf(resolve(dirname(path), base), read, [...above, path], secrets, seen);
  });
  const { instructions, ...rest } = withWholePaths(own, path, above.length > 0);
  if (typeof instructions !== 'string')
    return [...layers, { matter: instructions === undefined ? rest : { ...rest, instructions }, body }];
  if (body !== '') throw invalid(path, 'must have its instructions in the front matter or in the body, not in both');
  return [...layers, { matter: rest, body: instructions }];
}

/** Two names of one thing: a file that has one overrides a base that has the other. */
const samePairs = [
  ['model', 'models'],
  ['models', 'model'],
] as const;

function together(layers: readonly Document[]): Document {
  let matter: Record<string, unknown> = {};
  for (const layer of layers) {
    const before = { ...matter };
    for (const [one, other] of samePairs) if (one in layer.matter) delete before[other];
    matter = mergedFields(before, layer.matter);
  }
  return { matter, body: layers.flatMap(({ body }) => (body === '' ? [] : [body])).join('\n\n') };
}

/** The paths of tool modules are relative to their own file. */
function withWholePaths(matter: Record<string, unknown>, path: string, isBase: boolean): Record<string, unknown> {
  if (!isBase || matter.tools == null) return matter;
  const whole = (tool: unknown) =>
    typeof tool === 'string' && isModulePath(tool) ? resolve(dirname(path), tool) : tool;
  return { ...matter, tools: toolList(matter.tools).map(whole) };
}

function mergedFields(base: Record<string, unknown>, own: Record<string, unknown>): Record<string, unknown> {
  const joinedFields = Object.entries(own).map(([name, value]) => {
    const before = base[name];
    return [name, isRecord(before) && isRecord(value) ? mergedFields(before, value) : value];
  });
  return { ...base, ...Object.fromEntries(joinedFields) };
}

function filledIn(value: unknown, field: string, path: string, secrets: Set<string>): unknown {
  if (typeof value === 'string') return filledText(value, field, path, secrets);
  if (value instanceof Unquoted) return plainValue(filledText(value.text, field, path, secrets));
  if (Array.isArray(value)) return value.map((one, index) => filledIn(one, `${field}[${index}]`, path, secrets));
  if (!isRecord(value)) return value;
  const inner = (name: string) => (field === '' ? name : `${field}.${name}`);
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, filledIn(one, inner(name), path, secrets)]),
  );
}

/** `${NAME}`, or `${NAME:-otherwise}`; `$${` is a literal `${`. */
const reference = /\$(\$\{)|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g;

function plainValue(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+(?:\.\d+)?$/.test(text) && String(Number(text)) === text ? Number(text) : text;
}

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
