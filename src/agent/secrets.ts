import type { AgentDefinition } from './definition.ts';

const harmlessHeader =
  /^(accept|accept-language|content-type|user-agent|openai-(organization|project|beta)|anthropic-(version|beta)|x-title|http-referer|x-request-id)$/i;
const secretName = /authorization|key|token|secret|pass|pwd|credential|cookie|dsn|(^|_)pat($|_)/i;
const shortestSecret = 6;

/** Returns the credentials in a definition, which are redacted wherever they appear. */
export function secretsOf({ settings, mcpServers = {} }: AgentDefinition): string[] {
  const found = secretHeaders(settings?.headers ?? {});
  collect(settings?.providerOptions ?? {}, found);
  for (const server of Object.values(mcpServers)) {
    const config = 'shared' in server ? server.shared : server;
    if ('headers' in config) found.push(...secretHeaders(config.headers ?? {}));
    if ('env' in config) collect(config.env ?? {}, found);
    if ('url' in config) found.push(...secretsOfUrl(String(config.url)));
  }
  // Longest first: replacing a part first would leave the rest of the longer secret.
  return [...new Set(found)].filter((secret) => secret.length >= shortestSecret).sort((a, b) => b.length - a.length);
}

/** Returns the secrets in a service's headers: only those with a secret-sounding name, since most are harmless. */
export function secretsNamed(headers: Record<string, string>): string[] {
  return secretHeaders(Object.fromEntries(Object.entries(headers).filter(([name]) => secretName.test(name))));
}

/** Returns the password and the query values of a URL, the latter both decoded and as written. */
function secretsOfUrl(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { password, search, searchParams } = new URL(text);
  const written = search.split(/[?&]/).map((pair) => pair.split('=')[1] ?? '');
  return [...searchParams.values(), ...written, password];
}

/** Treats every header as a secret unless it is known to be harmless. For `Bearer x`, x alone counts too. */
function secretHeaders(headers: Record<string, string | undefined>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined || harmlessHeader.test(name)) return [];
    const credential = value.split(/\s+/).at(-1) ?? value;
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
