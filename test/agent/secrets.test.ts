import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { secretsOf } from '../../src/agent/secrets.ts';
import { type AgentDefinition, defineAgent, type SessionEvent } from '../../src/index.ts';
import { DeltaSecrets } from '../../src/observe/stream/delta-secrets.ts';
import { environmentSecrets } from '../../src/secrets/credentials.ts';
import { redact, redactJson, withoutSecrets } from '../../src/secrets/redact.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { odd } from '../support/mcp.ts';
import { report, runOverWire } from '../support/session.ts';

afterEach(() => vi.unstubAllEnvs());

/** Secrets without a known shape, by where they are configured. No word is in two: taking out one would hide the other. */
const planted = {
  header: 'zebra quilt harbor',
  scheme: 'mellow+tundra',
  option: 'walnut_ferry_9',
  url: 'p@ss/w0rd "x"',
  query: 'copper-lantern',
  environment: 'velvet9meadow2moon',
  own: 'orchid.summit.42',
};

const definition: Partial<AgentDefinition> = {
  settings: {
    headers: { 'x-auth': planted.header, authorization: `Token ${planted.scheme}` },
    providerOptions: { scripted: { apiToken: planted.option } },
  },
  mcpServers: {
    odd: { ...odd(), env: { DATABASE: planted.environment } },
    far: {
      url: `http://user:${encodeURIComponent(planted.url)}@127.0.0.1:9/mcp?access_token=${planted.query}`,
      optional: true,
    },
  },
  secrets: [planted.own],
};
const all = Object.values(planted).join(' | ');

/** A piece of text of a part. */
const deltaOf = (delta: string, part = 0) =>
  ({ type: 'model.delta', turn: 1, attempt: 1, kind: 'text', callId: null, toolName: null, part, delta }) as const;

describe('S-5: secrets', () => {
  it.each([
    ['a text that streams', { text: all }],
    ['its pieces', { text: all, pieceLength: 3 }],
    ['reasoning', { reasoning: all, text: 'x' }],
    ['the input of a call', { calls: [{ name: 'odd__echo', input: { text: all } }], pieceLength: 5 }],
    ['the name of a call', { calls: [{ name: `call ${all}` }] }],
    ['a result', { calls: [{ name: 'leak' }] }],
    ['a failure', { calls: [{ name: 'fail' }] }],
    ["a provider's error", { status: 400, error: { message: all } }],
    ['an error in mid-stream', { text: 'x', errorEvent: { afterEvents: 2, type: 'overloaded', message: all } }],
  ])('configured anywhere, turn up in no log, event or report, in %s', async (_where, response) => {
    const { events, lines, result } = await runOverWire({
      script: [response, { status: 400, error: { message: all } }],
      definition: {
        ...definition,
        tools: {
          leak: () => ({ all, [all]: all }),
          fail: () => {
            throw new Error(all);
          },
        },
      },
    });
    const seen = JSON.stringify([events, lines, result.report, result.failure]);
    expect(seen).toContain('[redacted]');
    for (const [name, secret] of Object.entries(planted)) {
      expect([name, seen.includes(JSON.stringify(secret).slice(1, -1))]).toEqual([name, false]);
      expect([name, seen.includes(encodeURIComponent(secret))]).toEqual([name, false]);
    }
  });

  it('turn up in no accepted report, which is a success; the conversation stays as the model had it', async () => {
    const { events, result } = await runOverWire({ script: [report(all)], definition });
    expect(result.success).toBe(true);
    const seen = JSON.stringify([events, result.report]);
    for (const secret of Object.values(planted)) expect(seen).not.toContain(JSON.stringify(secret).slice(1, -1));
    expect(JSON.stringify(result.conversation)).toContain(planted.own);
  });

  it("a `provider:model` string's key is one, and so is the key in the user part of a URL", () => {
    vi.stubEnv('OPENAI_API_KEY', 'quince-harbor-nine');
    const found = secretsOf({
      name: 'a',
      models: ['openai:gpt-5', rehearsalModel([])],
      mcpServers: { far: { url: 'https://maple-token@example.com/mcp' } },
    });
    expect(found).toEqual(expect.arrayContaining(['quince-harbor-nine', 'maple-token']));
  });

  it('a URL whose password cannot be decoded keeps it as it is', () => {
    const url = 'postgres://user:half%off@127.0.0.1:9/db';
    expect(secretsOf({ name: 'a', models: [], mcpServers: { far: { url } } })).toContain('half%off');
    expect(environmentSecrets({ DATABASE_URL: url })).toContain('half%off');
  });

  it("harmless values of a server's environment are none", () => {
    const env = { NODE_ENV: 'production', LANG: 'en_US.UTF-8', ROOT: '/srv/files/2024', DEBUG: 'true', PORT: '8080' };
    expect(secretsOf({ name: 'a', models: [], mcpServers: { one: { command: 'x', env } } })).toEqual([]);
  });

  it.each([
    ['Authorization: Token abc def', 'Authorization: [redacted]'],
    ['{"authorization":"Token abc"}', '{"authorization":"[redacted]"}'],
    ['proxy-authorization = Digest user="me"', 'proxy-authorization = [redacted]"me"'],
    ['https://tokentoken@host/x', 'https://[redacted]@host/x'],
    ['https://:secret@host/x', 'https://:[redacted]@host/x'],
    ['GET /v1?key=abc&page=2', 'GET /v1?key=[redacted]&page=2'],
    ['GET /v1?page=2&access_token=abc', 'GET /v1?page=2&access_token=[redacted]'],
    ['see https://example.com/a?page=2', 'see https://example.com/a?page=2'],
    ['x-api-key: abc', 'x-api-key: [redacted]'],
  ])('known shapes are taken out whole: %s', (text, clean) => {
    expect(redact(text)).toBe(clean);
  });

  it('a secret that is split over deltas is taken out, and nothing else is lost or reordered', () => {
    const secrets = ['abcab', 'bcd', 'aaaa'];
    const piece = fc.record({
      part: fc.nat(1),
      delta: fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd', ' '), minLength: 1 }),
    });
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const cleaner = new DeltaSecrets(secrets);
        const shown = ['', ''];
        const take = (
          delta: Extract<SessionEvent, { type: 'model.delta' }> | ReturnType<DeltaSecrets['takeDelta']>,
        ) => {
          if (delta !== null) shown[delta.part] += delta.delta;
        };
        for (const one of pieces) take(cleaner.takeDelta(deltaOf(one.delta, one.part)));
        for (const rest of cleaner.rest()) take(rest);
        for (const part of [0, 1]) {
          const whole = pieces.flatMap((one) => (one.part === part ? [one.delta] : [])).join('');
          if (!secrets.some((secret) => whole.includes(secret))) expect(shown[part]).toBe(whole);
          for (const secret of secrets) expect(shown[part]).not.toContain(secret);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('what is held back of a part comes at its end, and that of another part stays', () => {
    const cleaner = new DeltaSecrets(['abcdef']);
    expect(cleaner.takeDelta(deltaOf('x abc', 0))?.delta).toBe('x ');
    expect(cleaner.takeDelta(deltaOf('ab', 1))).toBeNull();
    expect(cleaner.endOf(0)).toEqual(deltaOf('abc', 0));
    expect(cleaner.endOf(0)).toBeNull();
    expect(cleaner.takeDelta(deltaOf('cdef!', 1))).toEqual(deltaOf('[redacted]!', 1));
    expect(cleaner.rest()).toEqual([]);
  });

  it.each([
    ['nothing that no secret begins with', ['hello'], ['hello'], ''],
    ['the longest end with which one begins', ['x ab'], ['x '], 'ab'],
    ['a whole secret, if another begins in it', ['x abcd'], ['x '], '[redacted]'],
    ['nothing once it is clear', ['ab', 'x'], [null, 'abx'], ''],
    ['a secret at the very end is known at once', ['x efg'], ['x [redacted]'], ''],
    ['an end that is shorter than what was held', ['abc', 'ab'], [null, 'abc'], 'ab'],
  ] as [string, string[], (string | null)[], string][])('held back is %s', (_, given, shown, rest) => {
    const cleaner = new DeltaSecrets(['abcd', 'cdzz', 'efg']);
    expect(given.map((delta) => cleaner.takeDelta(deltaOf(delta))?.delta ?? null)).toEqual(shown);
    expect(cleaner.rest().map(({ delta }) => delta)).toEqual(rest === '' ? [] : [rest]);
    expect(cleaner.rest()).toEqual([]);
  });

  it('the input of a call may write a secret with escapes, at whichever place it is split', () => {
    const secrets = ['tok/"key"9'];
    const hex = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
    const forms = ['tok\\/\\"key\\"9', [...'tok/"key"9'].map(hex).join(''), 'tok/\\"k\\u0065y\\"9'];
    for (const form of forms) {
      const whole = `{"content":"a \\n\\t tok\\u00e9 ${form}, so \\\\ tok"}`;
      expect(JSON.parse(whole).content).toContain(secrets[0]);
      for (let length = 1; length <= whole.length; length += 1) {
        const cleaner = new DeltaSecrets(secrets);
        let shown = '';
        for (let at = 0; at < whole.length; at += length)
          shown += cleaner.takeDelta({ ...deltaOf(whole.slice(at, at + length)), kind: 'tool-input' })?.delta ?? '';
        for (const rest of cleaner.rest()) shown += rest.delta;
        expect(shown).toBe(whole.replace(form, '[redacted]'));
      }
    }
    // Text is no JSON.
    const cleaner = new DeltaSecrets(['a/b']);
    expect(cleaner.takeDelta(deltaOf('a\\/b'))?.delta).toBe('a\\/b');
  });

  it('a broken escape in the input of a call hides no secret, and neither does a backslash of its own', () => {
    const secrets = ['C:\\temp12', 'sk-secret-123'];
    const shownOf = (whole: string, length: number) => {
      const cleaner = new DeltaSecrets(secrets);
      let shown = '';
      for (let at = 0; at < whole.length; at += length)
        shown += cleaner.takeDelta({ ...deltaOf(whole.slice(at, at + length)), kind: 'tool-input' })?.delta ?? '';
      return [shown, ...cleaner.rest().map(({ delta }) => delta)].join('');
    };
    for (const [whole, shown] of [
      ['{"a":"\\uZZ","key":"sk-secret-123"}', '{"a":"\\uZZ","key":"[redacted]"}'],
      ['{"path":"C:\\users\\me","key":"sk-secret-123"}', '{"path":"C:\\users\\me","key":"[redacted]"}'],
      ['{"p":"C:\\temp12"}', '{"p":"[redacted]"}'],
      ['{"p":"C:\\\\temp12"}', '{"p":"[redacted]"}'],
      ['{"p":"\\u00', '{"p":"\\u00'],
      // Two beside each other, in either order.
      ['{"p":"C:\\\\temp12\\u0073k-secret-123"}', '{"p":"[redacted][redacted]"}'],
      ['{"p":"\\u0073k-secret-123C:\\\\temp12"}', '{"p":"[redacted][redacted]"}'],
    ] as const)
      for (let length = 1; length <= whole.length; length += 1) expect(shownOf(whole, length)).toBe(shown);
  });

  it('of two secrets that begin alike, the longer is taken out whole, however it is split', () => {
    const whole = 'one tokenAAA-longer two tokenAAA';
    for (let length = 1; length < whole.length; length += 1) {
      const cleaner = new DeltaSecrets(['tokenAAA-longer', 'tokenAAA']);
      let shown = '';
      for (let at = 0; at < whole.length; at += length) {
        const delta = whole.slice(at, at + length);
        shown += cleaner.takeDelta(deltaOf(delta))?.delta ?? '';
      }
      for (const rest of cleaner.rest()) shown += rest.delta;
      expect(shown).toBe('one [redacted] two [redacted]');
    }
  });

  it("a parent's and a sub-agent's own secrets turn up in neither's events, logs and reports", async () => {
    const secrets = { parent: 'harbor-zebra-quilt', child: 'lantern-copper-moss' };
    const both = `${secrets.parent} ${secrets.child}`;
    const child = defineAgent({
      name: 'child',
      models: [rehearsalModel([{ text: both }, report(both)])],
      secrets: [secrets.child],
    });
    const { events, lines, result } = await runOverWire({
      script: [{ text: both, calls: [{ name: 'child', input: { prompt: both, reason: both } }] }, report(both)],
      definition: { secrets: [secrets.parent], agents: { child } },
    });
    expect(result.success).toBe(true);
    expect(result.counters.subAgents.child?.reports.attempted).toBe(1);
    const seen = JSON.stringify([events, lines, result.report]);
    for (const secret of Object.values(secrets)) expect(seen).not.toContain(secret);
  });

  it('what is our own stays in JSON; the data of others in it is cleaned, with its names', () => {
    const ours = {
      isWord: (field: string, text: string) => field === 'type' && text === 'secret.word',
      holdsData: (field: string) => field === 'data',
    };
    const value = {
      type: 'secret.word',
      note: 'a secret',
      secret: { type: 'secret.word', note: 'a secret' },
      data: { type: 'secret.word', secret: 'a secret', 'X-Api-Key': 'abc' },
      list: [{ authorization: 'abc' }, 'a secret', 7, null],
    };
    expect(redactJson(value, ['secret'], ours)).toEqual({
      type: 'secret.word',
      note: 'a [redacted]',
      secret: { type: 'secret.word', note: 'a [redacted]' },
      data: { type: '[redacted].word', '[redacted]': '[redacted]', 'X-Api-Key': '[redacted]' },
      list: [{ authorization: '[redacted]' }, 'a [redacted]', 7, null],
    });
    expect(redactJson({ type: 'secret.word' }, ['secret'])).toEqual({ type: '[redacted].word' });
  });

  it('a value without a secret stays the same object', () => {
    const value = { a: [1, { b: 'c' }] };
    expect(withoutSecrets(value, ['secret'])).toBe(value);
    expect(withoutSecrets({ secret: ['a secret', 1] }, ['secret'])).toEqual({ '[redacted]': ['a [redacted]', 1] });
    expect(withoutSecrets({ 'the secret': 1 }, ['secret'])).toEqual({ 'the [redacted]': 1 });
  });
});
