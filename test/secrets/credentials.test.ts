import { describe, expect, it } from 'vitest';
import { secretsOf } from '../../src/agent/secrets.ts';
import { environmentSecrets, secretsNamed, secretsOfServer } from '../../src/secrets/credentials.ts';
import { shortestSecret } from '../../src/secrets/spellings.ts';

/** Whether a variable of this name holds a secret, whatever its value. */
const isSecretName = (name: string) => environmentSecrets({ [name]: 'maple syrup' }).length > 0;

const headers = (given: Record<string, string | undefined>) =>
  secretsOf({ name: 'a', models: [], settings: { headers: given } });

describe('S-5: names of credentials', () => {
  it.each([
    'SERVICE_AUTH',
    'SERVICE_AUTH_V2',
    'SERVICE_AUTH_2',
    'SERVICE_AUTH__',
    'serviceAuth',
    'SIGNATURE',
    'REFRESH_TOKENS',
    'API_KEYS',
    'API_KEY_V2',
    'primaryKeyring_key',
    'SECONDARY_PRIMARY_KEY',
    'DB_PASSWORD',
  ])('%s names a credential', (name) => expect([name, isSecretName(name)]).toEqual([name, true]));

  it.each([
    'AUTH_MODE',
    'AUTH_V2_MODE',
    'SIGNATURE_KIND',
    'PRIMARY_KEY',
    'MAX_TOKENS',
    'OUTPUT_TOKENS',
    'CACHE_KEY',
    'TOKENS_LEFT',
    'MONKEY',
    'COMPASS',
    'GREETING',
  ])('%s does not', (name) => expect([name, isSecretName(name)]).toEqual([name, false]));

  it('only keys and tokens are harmless after a word such as MAX', () => {
    const names = ['MAX_KEYS', 'MAX_PASSKEY', 'MAX_TOKENSECRET', 'MAX_SECRETS'];
    expect(names.map(isSecretName)).toEqual([false, true, true, true]);
  });
});

describe('S-5: where credentials are', () => {
  it('headers that providers need do not count, even if they look like a token; nor do headers without a value', () => {
    expect(headers({ 'openai-organization': 'org-abc123def456', 'x-request-id': 'abc123def4567890' })).toEqual([]);
    expect(headers({ authorization: undefined, 'x-trace': undefined })).toEqual([]);
  });

  it('of a value with several spaces in it, the last word is one by its looks', () => {
    expect(headers({ 'x-extra': 'Token   abc123def456' })).toContain('abc123def456');
    expect(headers({ 'x-extra': 'plain words' })).toEqual([]);
  });

  it("of a service's headers, only those with the name of a credential count", () => {
    const found = secretsNamed({ 'x-trace': 'abc123def456', authorization: 'maple-syrup' });
    expect(new Set(found)).toEqual(new Set(['maple-syrup']));
  });

  it("a server's are those of its headers, its environment and its address", () => {
    expect(secretsOfServer({ command: 'x', env: { PASS: 'maple-syrup', LEVEL: 'debugging' } })).toEqual([
      'maple-syrup',
    ]);
    expect(secretsOfServer({ url: 'http://h/?b&=x', headers: { cookie: 'maple-syrup' } })).toEqual(['maple-syrup']);
  });

  it('a user name without a password is a token for a web service, and for nothing else', () => {
    const of = (url: string) => secretsOfServer({ command: 'x', env: { ADDRESS: url } });
    expect(of('https://maplesyrup@host/')).toEqual(['maplesyrup']);
    expect(of('http://maplesyrup@host/')).toEqual(['maplesyrup']);
    expect(of('postgres://maplesyrup@host/')).toEqual([]);
    expect(of('xhttp://maplesyrup@host/')).toEqual([]);
    expect(of('httpx://maplesyrup@host/')).toEqual([]);
  });

  it('options count by their name if they are texts, and the key of a model if it is named by a text', () => {
    const settings = { providerOptions: { one: { apiKey: 7, secrets: ['maple-syrup'], none: null } } };
    expect(secretsOf({ name: 'a', models: [], settings } as never)).toEqual([]);
    expect(secretsOf({ name: 'a', models: [{ modelId: 'openai:x', provider: 'p' } as never] })).toEqual([]);
  });

  it(`one of ${shortestSecret} characters counts, also once the space around it is gone`, () => {
    expect(headers({ 'x-auth': ' sixsix ' })).toContain('sixsix');
    expect(secretsOf({ name: 'a', models: [], secrets: ['  sixsix'] })).toContain('sixsix');
    expect(secretsOf({ name: 'a', models: [], secrets: ['   five5'] })).not.toContain('five5');
  });
});
