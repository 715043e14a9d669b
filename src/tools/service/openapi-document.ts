import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import { parse } from 'yaml';
import { expected, PawlError, reasonOf } from '../../input/errors.ts';
import { type LocalTool, localTool } from '../local.ts';
import { type ApiOperation, operationTool } from './openapi-operation.ts';
import type { OpenApiOptions } from './openapi-options.ts';
import { deref, type Json, type JsonRecord, list, record } from './openapi-schema.ts';
import { checkAuth } from './rest-auth.ts';

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head'] as const;

/** Documents use merge keys, and anchors far more often than YAML's guard against bombs allows. */
const yaml = { merge: true, maxAliasCount: 100_000 };

/** Creates the tools of a document. */
export async function documentTools(
  document: string | object,
  options: OpenApiOptions,
): Promise<Record<string, LocalTool>> {
  const api = await readDocument(document);
  const { include, exclude = [], auth } = options;
  checkAuth(auth);
  const tools: Record<string, LocalTool> = {};
  const known: string[] = [];
  /** The names so far, those of operations that are left out included, so that leaving one out renames no other. */
  const taken = new Set<string>();
  for (const [path, entry] of Object.entries(record(api.paths))) {
    // Without the slash it is a specification extension, or it would extend the host name.
    if (!path.startsWith('/')) continue;
    const item = deref(api, entry);
    for (const method of methods) {
      const operation = record(item)[method];
      if (operation === undefined) continue;
      const own = record(operation);
      const id = typeof own.operationId === 'string' ? own.operationId : '';
      const wanted = cleanName(id || `${method}_${path}`);
      const name = uniqueName(wanted, taken);
      taken.add(name);
      const names = [...new Set([id, name, `${method.toUpperCase()} ${path}`])].filter((one) => one !== '');
      known.push(...names);
      const isNamed = (list: readonly string[]) => names.some((one) => list.includes(one));
      if ((include !== undefined && !isNamed(include)) || isNamed(exclude)) continue;
      const { needsApproval = false } = options;
      const made = usable(name, {
        api,
        path,
        method: method.toUpperCase(),
        operation: own,
        shared: list(record(item).parameters),
        baseUrl: baseUrlOf([own.servers, record(item).servers, api.servers], options.baseUrl),
        auth,
        policy: options,
        // Two operations may have had one name: whoever asks for approval by it gets it for both.
        needsApproval:
          typeof needsApproval === 'boolean' ? needsApproval : isNamed(needsApproval) || needsApproval.includes(wanted),
      });
      if (made === null) {
        taken.delete(name);
        if (include === undefined) continue;
        throw new PawlError(
          'invalid_tool',
          `The operation ${name} cannot be a tool: a parameter in its path has no declaration.`,
        );
      }
      // Throws for an invalid tool here, rather than when an agent is defined with it.
      localTool(name, made);
      tools[name] = made;
    }
  }
  const approved = Array.isArray(options.needsApproval) ? options.needsApproval : [];
  const unknown = [...(include ?? []), ...exclude, ...approved].find((name) => !known.includes(name));
  if (unknown === undefined) return tools;
  throw new PawlError('invalid_tool', `The document has no operation ${unknown}; it has ${known.join(', ')}.`);
}

/** Builds an operation's tool. Throws `invalid_tool` if its input schema cannot be used, naming the operation. */
function usable(name: string, operation: ApiOperation): LocalTool | null {
  try {
    return operationTool(operation);
  } catch (error) {
    if (error instanceof PawlError) throw error;
    throw new PawlError(
      'invalid_tool',
      `The operation ${name} cannot be a tool: its input schema is unusable, as ${reasonOf(error)}. Leave it out with \`exclude\`.`,
      { cause: error },
    );
  }
}

async function readDocument(document: string | object): Promise<JsonRecord> {
  try {
    const parsed: JsonRecord =
      typeof document === 'string' ? parse(await readFile(document, 'utf8'), yaml) : structuredClone(document);
    if (typeof parsed !== 'object' || !/^3\.[01]\./.test(String(parsed?.openapi))) {
      throw new Error(expected('openapi', parsed?.openapi, 'version 3.0 or 3.1'));
    }
    // The validator follows no references, so that nested ones cannot multiply.
    const { valid, errors } = await new Validator().validate(structuredClone(parsed));
    if (!valid) throw new Error(problemIn(errors));
    return parsed;
  } catch (error) {
    const where = typeof document === 'string' ? document : 'the given object';
    throw new PawlError('invalid_tool', `The OpenAPI document cannot be used (${where}): ${reasonOf(error)}.`, {
      cause: error,
    });
  }
}

function problemIn(errors: string | readonly { instancePath?: string; message?: string }[] | undefined): string {
  if (typeof errors === 'string') return errors;
  const [first] = errors ?? [];
  return `${first?.instancePath || 'the document'} ${first?.message ?? 'is invalid'}`;
}

/** Returns the base URL of the nearest server: the operation's, its path's, or the document's. */
function baseUrlOf(servers: readonly (Json | undefined)[], given: string | undefined): string {
  const server = record(servers.flatMap((some) => list(some))[0]);
  const variables = record(server.variables ?? {});
  const told = typeof server.url === 'string' ? server.url : '';
  const filled = told.replace(/\{([^{}]+)\}/g, (all, name) => String(record(variables[name] ?? {}).default ?? all));
  const url = given ?? filled;
  const parsed = URL.canParse(url) && /^https?:[^{}?#]*$/.test(url) ? new URL(url) : null;
  if (parsed === null) {
    const shape = 'an http or https URL without placeholders, a query or a fragment';
    const shown = url.replace(/\/\/[^/?#]*@/, '//…@').replace(/([?#]).+/s, '$1…');
    const why = given === undefined ? ' The document names no such server.' : '';
    throw new PawlError('invalid_tool', expected('baseUrl', shown, shape) + why);
  }
  if (parsed.username === '' && parsed.password === '') return url.replace(/\/+$/, '');
  throw new PawlError('invalid_tool', '`baseUrl` must not contain credentials; pass them in `auth`.');
}

/** Returns a name in the characters that every provider accepts. */
function cleanName(wanted: string): string {
  const clean = wanted
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 60);
  return clean || 'operation';
}

function uniqueName(wanted: string, taken: ReadonlySet<string>): string {
  let name = wanted;
  for (let copy = 2; taken.has(name); copy += 1) name = `${wanted}_${copy}`;
  return name;
}
