import { describe, expect, it } from 'vitest';
import { notedSecrets, noteSecrets, secretsOf } from '../../src/agent/secrets.ts';
import { type AgentDefinition, mcpPool } from '../../src/index.ts';
import { environmentSecrets, secretsNamed } from '../../src/secrets/credentials.ts';
import { withoutSecrets } from '../../src/secrets/redact.ts';
import { writtenSecrets } from '../../src/secrets/spellings.ts';
import { withoutWrittenSecrets } from '../../src/secrets/written-secrets.ts';

const found = (definition: Partial<AgentDefinition>) => secretsOf({ name: 'a', models: [], ...definition });

describe('S-5: what counts as a secret', () => {
  it.each<[string, Partial<AgentDefinition>, string[]]>([
    ['six characters, and no fewer', { secrets: ['sixsix', 'five5'] }, ['sixsix']],
    ['a header', { settings: { headers: { 'x-auth': 'maple-syrup' } } }, ['maple-syrup']],
    [
      'the credential after a scheme',
      { settings: { headers: { authorization: 'Bearer  maple-syrup' } } },
      ['Bearer%20%20maple-syrup', 'Bearer  maple-syrup', 'Bearer++maple-syrup', 'maple-syrup'],
    ],
    ['no harmless header', { settings: { headers: { 'user-agent': 'maple-syrup' } } }, []],
    [
      'an option by its name, at any depth',
      { settings: { providerOptions: { one: { deep: { apiKey: 'maple-syrup', region: 'north-west' }, none: null } } } },
      ['maple-syrup'],
    ],
    [
      "a server's header",
      { mcpServers: { one: { url: 'http://h/', headers: { cookie: 'maple-syrup' } } } },
      ['maple-syrup'],
    ],
    [
      "a server's environment, by its name",
      { mcpServers: { one: { command: 'x', env: { PASS: 'maple-syrup' } } } },
      ['maple-syrup'],
    ],
    [
      'a server without headers and environment',
      { mcpServers: { one: { url: 'http://h/' }, two: { command: 'x' } } },
      [],
    ],
    [
      'credentials in the query of an address, as they are and as they are written, by their names or their looks',
      {
        mcpServers: {
          one: { url: 'http://h/?sig=maple%2Fsyrup&b&api_key=walnut&code=abc123def456&features=database' },
        },
      },
      ['maple%252Fsyrup', 'maple%2Fsyrup', 'maple\\/syrup', 'abc123def456', 'maple/syrup', 'walnut'],
    ],
    [
      'no name of a database, its role or its schema',
      {
        mcpServers: { one: { command: 'x', env: { DATABASE_URL: 'postgres://postgres@localhost/app?schema=public' } } },
      },
      [],
    ],
    [
      'a role that is a token, and a password',
      {
        mcpServers: {
          one: { command: 'x', env: { A: 'postgres://abc123def456@h/', B: 'postgres://role:maple-syrup@h/' } },
        },
      },
      ['abc123def456', 'maple-syrup'],
    ],
    [
      'what opens a session on its way',
      {
        settings: { headers: { 'x-session': 'maple-syrup' } },
        mcpServers: { one: { url: 'http://h/?code=walnut-ferry&sid=copper-lantern' } },
      },
      ['copper-lantern', 'walnut-ferry', 'maple-syrup'],
    ],
    [
      'no header that only says something',
      { settings: { headers: { 'x-mode': 'session', 'x-tenant': 'tenant-42' } } },
      [],
    ],
    [
      'a header that looks like a token',
      { settings: { headers: { 'x-who': 'Custom abc123def456' } } },
      ['Custom%20abc123def456', 'Custom abc123def456', 'Custom+abc123def456', 'abc123def456'],
    ],
    [
      'a password, and not the name of its user',
      { mcpServers: { one: { url: 'http://wendell:maple-syrup@h/' } } },
      ['maple-syrup'],
    ],
    ['a name without a password', { mcpServers: { one: { url: 'http://maple-syrup@h/' } } }, ['maple-syrup']],
  ])('%s', (_what, definition, secrets) => {
    expect(found(definition)).toEqual(secrets);
  });

  it('those of a shared server, of sub-agents and of the sessions above count too', async () => {
    const pool = mcpPool({ one: { url: 'http://127.0.0.1:9/', headers: { cookie: 'maple-syrup' } } });
    expect(found({ mcpServers: pool.servers })).toEqual(['maple-syrup']);
    await pool.close();
    expect(secretsOf({ name: 'a', models: [] }, ['walnut-ferry'])).toEqual(['walnut-ferry']);
  });

  it('those of the sessions that this process began are known to its inspectors, the longest first', () => {
    noteSecrets(['walnut-ferry', 'maple-syrup']);
    noteSecrets(['maple-syrup', 'walnut-ferry-2']);
    expect(notedSecrets().filter((secret) => /maple|walnut-/.test(secret))).toEqual([
      ...['walnut-ferry-2', 'walnut-ferry', 'maple-syrup'],
    ]);
  });

  it.each<[string, string, boolean]>([
    ['NAME', 'abc123def456', true],
    ['NAME', 'abc123def45', false],
    ['NAME', 'abcdefghijklmnop', false],
    ['NAME', '1234567890123456', false],
    ['NAME', 'abc123 def456ghi', false],
    ['NAME', 'abc123/def456ghi', false],
    ['NAME', 'abc123def456/ghi', false],
    ['NAME', '123456789012abc', true],
    ['NAME', 'two words abc123def456', false],
    ['SECRET', 'plain-words', true],
    ['SECRET', 'short', false],
    ['SECRET', 'longer', true],
    ['SECRET_FILE', 'plain-words', false],
    ['SECRET', '/a/path/to/it', false],
    ['SECRET', '123456789', false],
    ['PWD', 'plain-words', false],
    ['ADDRESS', 'http://user:plain-words@h/', false],
  ])('in the environment, %s with the value %s: %s', (name, value, isOne) => {
    expect(environmentSecrets({ [name]: value, NONE: undefined }).includes(value)).toBe(isOne);
  });

  it('a secret is found in JSON that escapes slashes, or all that is not ASCII, too', () => {
    const secret = 'a/b"c-Zürich-42';
    const told = [JSON.stringify(secret), String.raw`"a\/b\"c-Zürich-42"`, String.raw`"a\/b\"c-Z\u00fcrich-42"`];
    const secrets = secretsOf({ name: 'a', models: [], secrets: [secret] });
    for (const text of [secret, ...told]) expect(withoutSecrets(text, secrets)).toMatch(/^"?\[redacted]"?$/);
  });

  it('secrets that overlap are removed whole, in a text that may be JSON', () => {
    const text = String.raw`\n one-two-three one-two one-two-three-four`;
    const secrets = ['one-two', 'two-three'];
    expect(withoutWrittenSecrets(text, secrets)).toBe(String.raw`\n [redacted] [redacted] [redacted]-four`);
    expect(withoutWrittenSecrets(String.raw`\n ababab`, ['abab'])).toBe(String.raw`\n [redacted]`);
  });

  it('the password in an address of the environment counts', () => {
    expect(environmentSecrets({ ADDRESS: 'http://user:plain-words@h/' })).toEqual(['plain-words']);
  });

  it.each([
    ...['apiKey', 'api-key', 'apikey', 'X-API-Key', 'OPENAI_API_KEY', 'accessToken', 'GITHUB_TOKEN', 'clientSecret'],
    ...[
      'DB_PASSWORD',
      'PGPASSWORD',
      'DB_PASS',
      'pgpass',
      'x-pass-phrase',
      'passwd',
      'private_key',
      'signingKeys',
      'GH_PAT',
    ],
    ...['apiKey2', 'API_KEY1', 'SSHKey', 'appkey', 'encryptionkey', 'LICENSEKEY', 'passkey', 'DB_PASS2', 'API_TOKENS'],
    ...['ACCESSTOKENSTRING', 'GITHUB_PAT_1', 'SENTRY_DSN_URL', 'COOKIES_V2', 'AZURE_PRIMARY_KEY', 'x-signature'],
    ...['SENTRY_DSN', 'x-auth', 'Authorization', 'awsCredentials', 'key', 'KEY', 'sig', 'cookie'],
  ])('%s is the name of a credential', (name) => {
    expect(environmentSecrets({ [name]: 'plain-words' })).toEqual(['plain-words']);
  });

  it.each([
    ...['promptCacheKey', 'idempotency-key', 'PRIMARY_KEY', 'partitionKey', 'publicKey', 'sort_key', 'MAX_TOKENS'],
    ...[
      'maxOutputTokens',
      'primaryKey',
      'turkey',
      'tokenizer',
      'keyboard',
      'MONKEY',
      'compass',
      'bypass',
      'AUTH_MODE',
      'signature_algorithm',
      'author',
      'PATH_NAME',
    ],
  ])('%s is not', (name) => {
    expect(environmentSecrets({ [name]: 'plain-words' })).toEqual([]);
  });

  it("of a service's headers, only those with a secret name count", () => {
    expect(secretsNamed({ 'x-api-key': 'maple-syrup', 'x-region': 'north-west' })).toEqual([
      'maple-syrup',
      'maple-syrup',
    ]);
  });

  it.each<[string, Partial<AgentDefinition>]>([
    ['a header', { settings: { headers: { authorization: 'Bearer maple-syrup\n' } } }],
    ['a header of three words', { settings: { headers: { authorization: 'Token of maple-syrup\n' } } }],
    ["a server's environment", { mcpServers: { one: { command: 'x', env: { PASS: ' maple-syrup\r\n' } } } }],
    ['the secrets', { secrets: ['maple-syrup\n'] }],
  ])('a key with a line break after it, as files have it, counts without it too: %s', (_where, definition) => {
    expect(found(definition)).toContain('maple-syrup');
  });

  it('so does a token of the environment, and no part that is too short', () => {
    expect(environmentSecrets({ NAME: 'abc123def456\n' })).toContain('abc123def456');
    expect(writtenSecrets(['abc   ']).toSorted()).toEqual(['abc   ', 'abc%20%20%20', 'abc+++']);
  });

  it('the longest comes first, as it is and as URLs, forms and JSON write it, each once', () => {
    expect(writtenSecrets(["don't (tell)"])).toEqual(['don%27t+%28tell%29', "don't%20(tell)", "don't (tell)"]);
    expect(writtenSecrets(['', 'b"c', 'longer'])).toEqual(['longer', 'b%22c', 'b\\"c', 'b"c']);
  });
});
