import { describe, expect, it } from 'vitest';
import { defineAgent, type Journal, listSessions } from '../../src/index.ts';
import { given, shown } from '../../src/input/errors.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

const secret = 'hunter2-of-mine';

describe('S-5: an error about bad input shows what came, and no credential', () => {
  it.each([
    ['the environment of a server as a text', { mcpServers: { docs: { command: 'x', env: `API_KEY=${secret}` } } }],
    ['a header as a list', { mcpServers: { docs: { url: 'http://a.test', headers: { authorization: [secret] } } } }],
    ['the settings of a provider as its model', { models: [{ apiKey: secret, baseURL: 'http://a.test' }] }],
    ['secrets that are no list', { secrets: secret }],
    ['a secret that is no text', { secrets: [{ value: secret }] }],
    ['a secret deep in an option', { limits: [{ inner: [{ db_password: { value: secret } }] }] }],
    ['a key in the query of an address', { mcpServers: { docs: { url: `wss://a.test/?subscription-key=${secret}` } } }],
    ['what opens a session, in one', { mcpServers: { docs: { url: `a.test/mcp?sid=${secret}&b=1` } } }],
    ['a password in an address without its scheme', { mcpServers: { docs: { url: `clerk:${secret}@a.test` } } }],
  ])('%s', (_, options) => {
    const define = () => defineAgent({ name: 'clerk', models: [rehearsalModel([])], ...options } as never);
    expect(define).toThrow(/^`.+` must be .+; got .+\.$/);
    expect(define).not.toThrow(secret);
  });

  it('a journal with an address that has a password', async () => {
    const list = (journal: unknown) => listSessions(journal as Journal).catch((error: Error) => error.message);
    expect(await list(`postgres://clerk:${secret}@db/main`)).toMatch(
      /got "postgres:\/\/clerk:\[redacted\]@db\/main"\.$/,
    );
    expect(await list({ connectionString: `postgres://clerk:${secret}@db/main`, password: secret, port: 1 })).toMatch(
      /got \{"connectionString":"postgres:\/\/clerk:\[redacted\]@db\/main","password":"\[redacted\]","port":1\}\.$/,
    );
  });

  it('names the kind of what is not shown, and shows numbers under any name', () => {
    expect(given(secret, 'options.token')).toBe('a string');
    expect(given([secret], 'options.tokens[0].list')).toBe('an array');
    expect(given({ secret }, 'secrets[0]')).toBe('an object');
    expect(given(7, 'options.token')).toBe('7');
    expect(given(null, 'options.token')).toBe('null');
    expect(given({ token: 7, secret: null, isSecret: true })).toBe('{"token":7,"secret":null,"isSecret":true}');
    expect(given({ promptCacheKey: 'invoices' }, 'settings')).toBe('{"promptCacheKey":"invoices"}');
  });

  it('takes secrets out before it cuts', () => {
    expect(given(`${'a'.repeat(95)} Bearer ${secret}`)).not.toContain('hunter2');
    expect(given(`postgres://a:${'p'.repeat(200)}@db`)).toBe('"postgres://a:[redacted]@db"');
  });
});

describe('a value in a message', () => {
  const circular: { self?: object } = {};
  circular.self = circular;
  it.each([
    [7, '7'],
    [Number.NaN, 'NaN'],
    ['a', '"a"'],
    [null, 'null'],
    [undefined, 'undefined'],
    [Symbol('a'), 'Symbol(a)'],
    [() => 1, 'a function'],
    [new Map(), '[object Map]'],
    [new Set(), '[object Set]'],
    [circular, '[object Object]'],
    [1n, '1'],
    [{ a: [1] }, '{"a":[1]}'],
    ['a'.repeat(118), `"${'a'.repeat(118)}"`],
    ['a'.repeat(119), `"${'a'.repeat(116)}...`],
  ])('%o', (value, text) => {
    expect(shown(value)).toBe(text);
    expect(given(value)).toBe(text);
  });
});
