import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { check } from '../check.ts';
import { messageOf, PawlError, shown } from '../errors.ts';
import { type HttpPolicy, policyShape } from './http-request.ts';
import { type LocalTool, localTool } from './local.ts';
import { deref, type Json, type JsonRecord, list, operationTool, record } from './openapi-operation.ts';
import type { RestAuth } from './rest.ts';

export type OpenApiOptions = HttpPolicy & {
  /** Operations to take: ids, or `GET /pets/{id}`; default all. */
  include?: readonly string[];
  /** Operations to leave out. */
  exclude?: readonly string[];
  /** Where the service is; default the document's first server. */
  baseUrl?: string;
  /** A key without a name goes where the document's own key scheme says. */
  auth?: RestAuth | { key: string };
  /** Which operations somebody has to approve; default none. */
  needsApproval?: boolean | readonly string[];
};

const names = z.array(z.string(), { error: 'an array of operations is allowed' }).optional();
const optionsSchema = z.strictObject({
  include: names,
  exclude: names,
  baseUrl: z.string({ error: 'a URL is allowed' }).optional(),
  auth: z.unknown().optional(),
  needsApproval: z
    .union([z.boolean(), z.array(z.string())], { error: 'true, false or an array of operations is allowed' })
    .optional(),
  ...policyShape,
} satisfies Record<keyof OpenApiOptions, z.ZodType>);

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head'] as const;

/**
 * The operations of an OpenAPI 3.0 or 3.1 document as tools, by their operation ids. `document` is the document, or the
 * path of its file (JSON or YAML). Rejects with `invalid_tool` for a document that is none; references to other files are
 * not followed.
 */
export async function openApiTools(
  document: string | object,
  options: OpenApiOptions = {},
): Promise<Record<string, LocalTool>> {
  check(optionsSchema, options, '', 'invalid_tool');
  const api = await readDocument(document);
  const { include, exclude = [] } = options;
  const auth = authOf(api, options.auth);
  const tools: Record<string, LocalTool> = {};
  const known: string[] = [];
  for (const [path, entry] of Object.entries(record(api.paths))) {
    const item = deref(api, entry);
    for (const method of methods) {
      const operation = record(item)[method];
      if (operation === undefined) continue;
      const own = record(operation);
      const id = typeof own.operationId === 'string' ? own.operationId : '';
      const name = uniqueName(id || `${method}_${path}`, tools);
      const names = [...new Set([id, name, `${method.toUpperCase()} ${path}`])].filter((one) => one !== '');
      known.push(...names);
      const isNamed = (list: readonly string[]) => names.some((one) => list.includes(one));
      if ((include !== undefined && !isNamed(include)) || isNamed(exclude)) continue;
      const { needsApproval = false } = options;
      const made = operationTool({
        api,
        path,
        method: method.toUpperCase(),
        operation: own,
        shared: list(record(item).parameters),
        baseUrl: baseUrlOf([own.servers, record(item).servers, api.servers], options.baseUrl),
        auth,
        policy: options,
        needsApproval: typeof needsApproval === 'boolean' ? needsApproval : isNamed(needsApproval),
      });
      if (made === null) continue;
      // Refused here, by its name, rather than when an agent is defined with it.
      localTool(name, made);
      tools[name] = made;
    }
  }
  const approved = Array.isArray(options.needsApproval) ? options.needsApproval : [];
  const unknown = [...(include ?? []), ...exclude, ...approved].find((name) => !known.includes(name));
  if (unknown === undefined) return tools;
  throw new PawlError('invalid_tool', `${unknown} is no operation of the document: there are ${known.join(', ')}.`);
}

async function readDocument(document: string | object): Promise<JsonRecord> {
  // Loaded at need, so that nobody else pays for them.
  const [{ default: SwaggerParser }, { parse }] = await Promise.all([
    import('@apidevtools/swagger-parser'),
    import('yaml'),
  ]);
  try {
    const parsed: JsonRecord =
      typeof document === 'string' ? parse(await readFile(document, 'utf8')) : structuredClone(document);
    if (typeof parsed !== 'object' || !/^3\.[01]\./.test(String(parsed?.openapi))) {
      throw new Error(`openapi is ${shown(parsed?.openapi)}, and 3.0 and 3.1 are allowed`);
    }
    // The parser resolves references in place; the document is read as it stands, since resolved ones multiply.
    await SwaggerParser.validate(structuredClone(parsed) as never, {
      resolve: { external: false },
      dereference: { circular: 'ignore' },
    });
    return parsed;
  } catch (error) {
    const where = typeof document === 'string' ? document : 'it';
    throw new PawlError('invalid_tool', `The OpenAPI document cannot be used (${where}): ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

/** The nearest servers count: of the operation, of its path, of the document. */
function baseUrlOf(servers: readonly (Json | undefined)[], given: string | undefined): string {
  const server = record(servers.flatMap((some) => list(some))[0]);
  const variables = record(server.variables ?? {});
  const told = typeof server.url === 'string' ? server.url : '';
  const url = given ?? told.replace(/\{([^{}]+)\}/g, (_, name) => String(record(variables[name] ?? {}).default ?? ''));
  if (URL.canParse(url) && /^https?:/.test(url)) return url.replace(/\/+$/, '');
  throw new PawlError(
    'invalid_tool',
    `baseUrl is ${shown(url)}: an http or https URL is needed, since the document names none.`,
  );
}

/** A key alone goes where the document's first key scheme puts it. */
function authOf(api: JsonRecord, auth: OpenApiOptions['auth']): RestAuth | undefined {
  if (auth === undefined || !('key' in auth) || 'name' in auth) return auth;
  const schemes = Object.values(record(record(api.components ?? {}).securitySchemes ?? {})).map(record);
  const scheme = schemes.find(({ type, in: where }) => type === 'apiKey' && where !== 'cookie');
  if (scheme === undefined || typeof scheme.name !== 'string') {
    throw new PawlError(
      'invalid_tool',
      'auth.key has no name, and the document has no scheme that says where a key goes: give name and in.',
    );
  }
  return { key: auth.key, name: scheme.name, in: scheme.in === 'query' ? 'query' : 'header' };
}

function uniqueName(wanted: string, taken: Record<string, unknown>): string {
  const clean =
    wanted
      .replace(/[^A-Za-z0-9_-]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .slice(0, 60) || 'operation';
  let name = clean;
  for (let copy = 2; Object.hasOwn(taken, name); copy += 1) name = `${clean}_${copy}`;
  return name;
}
