import { decodedUri } from '../platform/text.ts';
import { namesSecret, secretOnTheWay } from './credential-names.ts';
import { longSecrets, shortestSecret, writtenSecrets } from './spellings.ts';

const harmlessHeader =
  /^(accept|accept-language|content-type|user-agent|openai-(organization|project|beta)|anthropic-(version|beta)|x-title|http-referer|x-request-id)$/i;

/** What a server's configuration may hold credentials in. */
type Credentialed = {
  headers?: Record<string, string> | undefined;
  env?: Record<string, string> | undefined;
  url?: string | URL | undefined;
};

/** Returns the credentials of a server, as they are written anywhere. */
export function secretsOfServer(config: object): string[] {
  return longSecrets(secretsOfConfig(config));
}

/** Returns the credentials of a server's configuration. */
export function secretsOfConfig(config: object): string[] {
  const { headers = {}, env = {}, url = '' }: Credentialed = config;
  return [...secretHeaders(headers), ...secretsInEnvironment(env), ...secretsOfUrl(String(url))];
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
export function secretHeaders(headers: Record<string, string | undefined>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined || harmlessHeader.test(name)) return [];
    const credential = value.trim().split(/\s+/).at(-1) ?? value;
    return namesSecret(name) || secretOnTheWay.test(name) || isToken(credential) ? [value, credential] : [];
  });
}

/** Collects strings with the names of credentials, at any depth. */
export function collect(values: object, found: string[]): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string' && namesSecret(name)) found.push(value);
    else if (typeof value === 'object' && value !== null) collect(value, found);
  }
}
