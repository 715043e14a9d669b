import type { AgentDefinition } from '../agent-definition.ts';

const removed = '[redacted]';

/** Shapes of keys and credentials that providers and their error messages are known to use (S-5). */
const shapes: readonly [RegExp, string][] = [
  [/\b(Bearer|bearer)\s+(?:[A-Za-z0-9._~+/=-]{16,}|(?=[^\s]*\d)[A-Za-z0-9._~+/=-]{6,})/g, `$1 ${removed}`],
  [/\b(Basic)\s+(?=[^\s]*[\d=+/])[A-Za-z0-9+/=]{8,}/g, `$1 ${removed}`],
  [
    /\b(?:sk|pk|rk|gsk|xai|ghp|gho|hf|key)[-_](?:[A-Za-z0-9_*-]{16,}|(?=[A-Za-z0-9_*-]*[\d*])[A-Za-z0-9_*-]{8,})/g,
    removed,
  ],
  [/\bAIza[A-Za-z0-9_-]{20,}/g, removed],
  [/(\/\/[^\s/:@]+:)[^\s/@]+@/g, `$1${removed}@`],
  [
    /\b(authorization|x-api-key|api[-_]?key|x-goog-api-key)(["']?\s*[:=]\s*["']?)(?!Bearer|Basic)[^\s"',;)}]+/gi,
    `$1$2${removed}`,
  ],
  [/\b(api key(?: provided)?|access token)(:\s*)[^\s"',;)}]+/gi, `$1$2${removed}`],
];

const harmlessHeader =
  /^(accept|accept-language|content-type|user-agent|openai-(organization|project|beta)|anthropic-(version|beta)|x-title|http-referer|x-request-id)$/i;
const secretName = /authorization|key|token|secret|pass|pwd|credential|cookie|dsn|(^|_)pat($|_)/i;
const shortestSecret = 6;

/** What a definition holds of credentials: to be removed wherever they turn up. */
export function secretsOf({ settings, mcpServers = {} }: AgentDefinition): string[] {
  const found = secretHeaders(settings?.headers ?? {});
  collect(settings?.providerOptions ?? {}, found);
  for (const server of Object.values(mcpServers)) {
    const config = 'shared' in server ? server.shared : server;
    if ('headers' in config) found.push(...secretHeaders(config.headers ?? {}));
    if ('env' in config) collect(config.env ?? {}, found);
    if ('url' in config) found.push(...secretsOfUrl(String(config.url)));
  }
  // The longest first, so that none is left over by a part of it.
  return [...new Set(found)].filter((secret) => secret.length >= shortestSecret).sort((a, b) => b.length - a.length);
}

/** Of headers of a service, which say much that is no secret, those whose name says that they are one. */
export function secretsNamed(headers: Record<string, string>): string[] {
  return secretHeaders(Object.fromEntries(Object.entries(headers).filter(([name]) => secretName.test(name))));
}

/** What stands in an address beside where it leads: as it is, and as it is written there. */
function secretsOfUrl(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { password, search, searchParams } = new URL(text);
  const written = search.split(/[?&]/).map((pair) => pair.split('=')[1] ?? '');
  return [...searchParams.values(), ...written, password];
}

/** A header is taken for a secret unless it is known to be none; of `Bearer x` the x alone is one too. */
function secretHeaders(headers: Record<string, string | undefined>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined || harmlessHeader.test(name)) return [];
    const credential = value.split(/\s+/).at(-1) ?? value;
    return [value, credential];
  });
}

/** Strings under a name that says that they are secret, however deep. */
function collect(values: object, found: string[]): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string' && secretName.test(name)) found.push(value);
    else if (typeof value === 'object' && value !== null) collect(value, found);
  }
}

/** `text` without keys and credentials (S-5): the known ones to the letter, others by their shape. */
export function redact(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, removed);
  for (const [shape, replacement] of shapes) clean = clean.replace(shape, replacement);
  return clean;
}
