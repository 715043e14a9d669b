import { z } from 'zod';
import { PawlError } from '../../input/errors.ts';
import { toBase64, utf8Bytes } from '../../platform/bytes.ts';
import { lazily } from '../../platform/lazily.ts';

/** Credentials for a service. A key is sent in the header or query parameter `name`. */
export type RestAuth =
  | { bearer: string }
  | { basic: { username: string; password: string } }
  | { key: string; name: string; in?: 'header' | 'query' };

/** Adds the credentials to the URL or the headers. */
export function authorize(auth: RestAuth | undefined, url: URL, headers: Record<string, string>): void {
  if (auth === undefined) return;
  if ('bearer' in auth) headers.authorization = `Bearer ${auth.bearer}`;
  else if ('basic' in auth) headers.authorization = `Basic ${basicOf(auth.basic)}`;
  else if (auth.in === 'query') addKey(url, auth.name, auth.key);
  else headers[auth.name.toLowerCase()] = auth.key;
}

/** Adds a key to a query, whose other parts stay as they are written. */
function addKey(url: URL, name: string, key: string): void {
  const kept = url.search.split('&').filter((piece) => piece !== '' && !new URLSearchParams(piece).has(name));
  url.search = [...kept, new URLSearchParams({ [name]: key })].join('&');
}

function basicOf({ username, password }: { username: string; password: string }): string {
  return toBase64(utf8Bytes(`${username}:${password}`));
}

const authSchemas = lazily((): Record<'bearer' | 'basic' | 'key', z.ZodType> => {
  const credential = z.string({ error: 'a string that is not empty' }).min(1);
  const basic = { username: credential, password: z.string({ error: 'a string' }) };
  return {
    bearer: z.strictObject({ bearer: credential }),
    basic: z.strictObject({ basic: z.strictObject(basic, { error: '{ username, password }' }) }),
    key: z.strictObject({
      key: credential,
      name: credential,
      in: z.enum(['header', 'query'], { error: 'header or query' }).optional(),
    }),
  };
});

/** Throws `invalid_tool` for invalid credentials, so that they do not fail the first call. */
export function checkAuth(auth: unknown): void {
  if (auth === undefined) return;
  const given = typeof auth === 'object' && auth !== null ? auth : {};
  const kind = (['bearer', 'basic', 'key'] as const).find((name) => name in given);
  if (kind === undefined)
    throw new PawlError('invalid_tool', '`auth` must have `bearer`, `basic`, or `key` and `name`.');
  const [issue] = authSchemas()[kind].safeParse(auth).error?.issues ?? [];
  if (issue === undefined) return;
  // The message must not show the credentials.
  throw new PawlError('invalid_tool', `\`${['auth', ...issue.path].join('.')}\` must be ${issue.message}.`);
}

/** Returns the secrets to redact, since a service may echo them. */
export function secretsOfAuth(auth: RestAuth | undefined): string[] {
  if (auth === undefined) return [];
  if ('bearer' in auth) return [auth.bearer];
  return 'basic' in auth ? [basicOf(auth.basic), auth.basic.password] : [auth.key];
}
