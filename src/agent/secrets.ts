import { keyVariable, type ModelReference } from '../model/targets.ts';
import { environment } from '../platform/node.ts';
import { decodedUri } from '../text.ts';
import type { AgentDefinition } from './definition.ts';

const harmlessHeader =
  /^(accept|accept-language|content-type|user-agent|openai-(organization|project|beta)|anthropic-(version|beta)|x-title|http-referer|x-request-id)$/i;
const secretName = /authorization|key|token|secret|pass|pwd|credential|cookie|dsn|(^|_)pat($|_)/i;
const shortestSecret = 6;

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
  const { settings, models, secrets = [], mcpServers = {}, agents = {}, handoffs = {} } = definition;
  const found = [...ofTree, ...secrets, ...secretHeaders(settings?.headers ?? {}), ...models.flatMap(keyOf)];
  for (const agent of [...Object.values(agents), ...Object.values(handoffs)])
    found.push(...secretsOf(agent.definition));
  collect(settings?.providerOptions ?? {}, found);
  for (const server of Object.values(mcpServers)) {
    const config = 'shared' in server ? server.shared : server;
    if ('headers' in config) found.push(...secretHeaders(config.headers ?? {}));
    if ('env' in config) found.push(...secretsInEnvironment(config.env ?? {}));
    if ('url' in config) found.push(...secretsOfUrl(String(config.url)));
  }
  const all = longestFirst(found.flatMap(asWritten).filter((secret) => secret.length >= shortestSecret));
  for (const secret of all) configured.add(secret);
  return all;
}

/** Returns secrets as they are and as URLs and JSON write them, in an order in which all of them can be replaced. */
export function writtenSecrets(secrets: readonly string[]): string[] {
  return longestFirst(secrets.filter((secret) => secret !== '').flatMap(asWritten));
}

/** Names that sound secret and are not, and values that are no secret under any name. */
const harmlessName = /^(OLD)?PWD$|ASKPASS|_(PATH|DIR|FILE|SOCK)$/i;
const harmlessValue = /^(\/.*|\d{1,9}|true|false)$/;

/** Returns what an environment holds under secret-sounding names, and what looks like a token. */
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

/** A secret turns up as it is, or as a URL, a form or JSON would write it; and as HTTP sends it, without space around it. */
export function asWritten(secret: string): string[] {
  const trimmed = secret.trim();
  const known = trimmed.length < shortestSecret ? [secret] : [secret, trimmed];
  return known.flatMap((one) => {
    const wellFormed = one.toWellFormed();
    const form = new URLSearchParams({ '': wellFormed }).toString().slice(1);
    return [one, encodeURIComponent(wellFormed), form, JSON.stringify(one).slice(1, -1)];
  });
}

/** Values under secret-sounding names, and others that look like tokens: long, mixed and without spaces or slashes. */
function secretsInEnvironment(env: Record<string, string>): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const isToken = /^(?=.*\d)(?=.*[A-Za-z])[^\s/\\]{12,}$/.test(value.trim());
    return [...(secretName.test(name) || isToken ? [value] : []), ...secretsOfUrl(value)];
  });
}

/** Returns the secrets in a service's headers: only those with a secret-sounding name, since most are harmless. */
export function secretsNamed(headers: Record<string, string>): string[] {
  return secretHeaders(Object.fromEntries(Object.entries(headers).filter(([name]) => secretName.test(name))));
}

/** Returns the credentials of a URL: its password, or else its user name, and the values of its query. */
function secretsOfUrl(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { username, password, search, searchParams } = new URL(text);
  const written = search.split(/[?&]/).map((pair) => pair.split('=')[1] ?? '');
  // Without a password, the name is the token.
  const userInfo = password === '' ? username : password;
  return [...searchParams.values(), ...written, userInfo, decodedUri(userInfo)];
}

/** Treats every header as a secret unless it is known to be harmless. For `Bearer x`, x alone counts too. */
function secretHeaders(headers: Record<string, string | undefined>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined || harmlessHeader.test(name)) return [];
    const credential = value.trim().split(/\s+/).at(-1) ?? value;
    return [value, credential];
  });
}

/** Collects strings with secret-sounding names, at any depth. */
function collect(values: object, found: string[]): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string' && secretName.test(name)) found.push(value);
    else if (typeof value === 'object' && value !== null) collect(value, found);
  }
}
