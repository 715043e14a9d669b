import { keyVariable, type ModelReference } from '../model/targets.ts';
import { environment } from '../platform/node.ts';
import { decodedUri } from '../text.ts';
import type { McpServerConfig } from '../tools/mcp/definition.ts';
import { namesSecret, secretOnTheWay } from './credential-names.ts';
import type { AgentDefinition } from './definition.ts';

const harmlessHeader =
  /^(accept|accept-language|content-type|user-agent|openai-(organization|project|beta)|anthropic-(version|beta)|x-title|http-referer|x-request-id)$/i;
export const shortestSecret = 6;

/** The field of a tool with credentials of its own. It is a symbol, so that a copy of the tool has it, too. */
const ofTool = Symbol('secrets');

/** Marks a tool as holding credentials, which are secrets of every session of its agent. */
export function withSecrets<Tool extends object>(tool: Tool, secrets: readonly string[]): Tool {
  return { ...tool, [ofTool]: () => secrets };
}

function secretsOfTool(tool: object): readonly string[] {
  const marked: { [ofTool]?: () => readonly string[] } = tool;
  return marked[ofTool]?.() ?? [];
}

const configured = new Set<string>();

/** Returns the secrets of all agents that this process has run, for an inspector, which sees every session. */
export function configuredSecrets(): string[] {
  return longestFirst(configured);
}

/**
 * Returns the credentials in a definition and those of its sub-agents, which are redacted wherever they appear (S-5).
 * `ofTree` holds those of the sessions above.
 */
export function secretsOf(definition: AgentDefinition, ofTree: readonly string[] = []): string[] {
  const { settings, models, secrets = [], tools = {}, mcpServers = {}, agents = {}, handoffs = {} } = definition;
  const found = [...ofTree, ...secrets, ...secretHeaders(settings?.headers ?? {}), ...models.flatMap(keyOf)];
  for (const agent of [...Object.values(agents), ...Object.values(handoffs)])
    found.push(...secretsOf(agent.definition));
  collect(settings?.providerOptions ?? {}, found);
  for (const tool of Object.values(tools)) found.push(...secretsOfTool(tool));
  for (const server of Object.values(mcpServers)) {
    const config = 'shared' in server ? server.shared : server;
    found.push(...secretsOfConfig(config));
  }
  const all = longSecrets(found);
  for (const secret of all) configured.add(secret);
  return all;
}

/** Returns the credentials of an MCP server. */
export function secretsOfServer(config: McpServerConfig): string[] {
  return longSecrets(secretsOfConfig(config));
}

function secretsOfConfig(config: McpServerConfig): string[] {
  return [
    ...('headers' in config ? secretHeaders(config.headers ?? {}) : []),
    ...('env' in config ? secretsInEnvironment(config.env ?? {}) : []),
    ...('url' in config ? secretsOfUrl(String(config.url)) : []),
  ];
}

function longSecrets(found: readonly string[]): string[] {
  return longestFirst(found.flatMap(asWritten).filter((secret) => secret.length >= shortestSecret));
}

/** Returns secrets as they are and as URLs and JSON write them, in an order in which all of them can be replaced. */
export function writtenSecrets(secrets: readonly string[]): string[] {
  return longestFirst(secrets.filter((secret) => secret !== '').flatMap(asWritten));
}

/** Names that sound secret and are not, and values that are no secret under any name. */
const harmlessName = /^(OLD)?PWD$|ASKPASS|_(PATH|DIR|FILE|SOCK)$/i;
const harmlessValue = /^(\/.*|\d{1,9}|true|false)$/;

/** Returns what an environment holds under the names of credentials, and what looks like a token. */
export function environmentSecrets(environment: Record<string, string | undefined>): string[] {
  const given = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined || harmlessName.test(name) || harmlessValue.test(value) ? [] : [[name, value]],
  );
  return writtenSecrets(
    secretsInEnvironment(Object.fromEntries(given)).filter(({ length }) => length >= shortestSecret),
  );
}

/** Replacing a part first would leave the rest of the longer secret. */
function longestFirst(secrets: Iterable<string>): string[] {
  return [...new Set(secrets)].sort((one, other) => other.length - one.length);
}

/** Returns the key of a `provider:model` string, which its provider reads from the environment. */
function keyOf(model: ModelReference): string[] {
  const key = typeof model === 'string' ? environment(keyVariable(model) ?? '') : undefined;
  return key === undefined ? [] : [key];
}

/**
 * Returns the forms of a secret: as is, as in a URL, a form or JSON, and without surrounding space, as HTTP sends it. Some
 * writers of JSON escape slashes, and all that is not ASCII.
 */
function asWritten(secret: string): string[] {
  const trimmed = secret.trim();
  const known = trimmed.length < shortestSecret ? [secret] : [secret, trimmed];
  return known.flatMap((one) => {
    const wellFormed = one.toWellFormed();
    const form = new URLSearchParams({ '': wellFormed }).toString().slice(1);
    const json = JSON.stringify(one).slice(1, -1);
    const inJson = [json, inAscii(json)].flatMap((text) => [text, text.replaceAll('/', '\\/')]);
    return [one, encodeURIComponent(wellFormed), form, ...inJson];
  });
}

function inAscii(text: string): string {
  return text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Whether a value looks like a token: long, mixed and without spaces or slashes. */
function isToken(value: string): boolean {
  return /^(?=.*\d)(?=.*[A-Za-z])[^\s/\\]{12,}$/.test(value.trim());
}

/** Values under the names of credentials, others that look like tokens, and the credentials of URLs. */
function secretsInEnvironment(env: Record<string, string>): string[] {
  return Object.entries(env).flatMap(([name, value]) => [
    ...(namesSecret(name) || isToken(value) ? [value] : []),
    ...secretsOfUrl(value),
  ]);
}

/** Returns the secrets in a service's headers: only those with the name of a credential, since most are harmless. */
export function secretsNamed(headers: Record<string, string>): string[] {
  return secretHeaders(Object.fromEntries(Object.entries(headers).filter(([name]) => namesSecret(name))));
}

/** Returns the secrets in the query of a service's URL: only those with the name of a credential, too. */
export function secretsInQuery(url: string): string[] {
  return [...new URL(url).searchParams].flatMap(([name, value]) => (namesSecret(name) ? [value] : []));
}

/**
 * Returns the credentials of a URL: its password, or else a user name that is a token, and the values of its query that
 * have the name or the look of a credential.
 */
function secretsOfUrl(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { protocol, username, password, search } = new URL(text);
  const isCredential = (name: string, value: string) =>
    namesSecret(name) || secretOnTheWay.test(name) || isToken(value);
  const inQuery = search.split(/[?&]/).flatMap((pair) => {
    const [[name = '', value = ''] = []] = [...new URLSearchParams(pair)];
    return isCredential(name, value) ? [value, pair.slice(pair.indexOf('=') + 1)] : [];
  });
  // For a web service, a user name without a password is a token; for a database, it is a role.
  const isTokenName = /^https?:$/.test(protocol) || isToken(username);
  const userInfo = password === '' && isTokenName ? username : password;
  return [...inQuery, userInfo, decodedUri(userInfo)];
}

/** Headers with the name or the look of a credential. For `Bearer x`, x alone counts too. */
function secretHeaders(headers: Record<string, string | undefined>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined || harmlessHeader.test(name)) return [];
    const credential = value.trim().split(/\s+/).at(-1) ?? value;
    return namesSecret(name) || secretOnTheWay.test(name) || isToken(credential) ? [value, credential] : [];
  });
}

/** Collects strings with the names of credentials, at any depth. */
function collect(values: object, found: string[]): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string' && namesSecret(name)) found.push(value);
    else if (typeof value === 'object' && value !== null) collect(value, found);
  }
}
