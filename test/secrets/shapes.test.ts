import { describe, expect, it } from 'vitest';
import { redact, redactJson } from '../../src/secrets/redact.ts';
import { isSecretField, secretShapes } from '../../src/secrets/shapes.ts';

/** A sample that no real key has. */
const made = (length: number) => 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cF'.repeat(4).slice(0, length);
const hex = (length: number) => '0a1b2c3d4e5f6789'.repeat(8).slice(0, length);

/** What is of a shape, whose last part must not be left. */
const samples: Record<string, [text: string, secret: string][]> = {
  'a bearer token': [[`Bearer ${made(24)}`, made(24)]],
  'basic credentials': [['Basic dXNlcjpwYXNzd29yZA==', 'dXNlcjpwYXNzd29yZA']],
  'a private key': [
    [`-----BEGIN RSA PRIVATE KEY-----\n${made(64)}\n-----END RSA PRIVATE KEY-----`, made(64)],
    [`-----BEGIN PGP PRIVATE KEY BLOCK-----\n${made(64)}`, made(64)],
    [`-----BEGIN OPENSSH PRIVATE KEY-----\n${made(64)}`, made(64)],
  ],
  'a JSON web token': [[`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${made(30)}`, made(30)]],
  AWS: [
    ['AKIAIOSFODNN7EXAMPLE', 'IOSFODNN7EXAMPLE'],
    ['ASIAIOSFODNN7EXAMPLE', 'IOSFODNN7EXAMPLE'],
  ],
  Google: [[`AIza${made(35)}`, made(35)]],
  'Google OAuth': [
    [`ya29.${made(20)}`, made(20)],
    [`GOCSPX-${made(28)}`, made(28)],
  ],
  'Azure AD': [[`abc8Q~${made(34)}`, made(34)]],
  GitHub: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'].map((prefix) => [prefix + made(36), made(36)]),
  GitLab: ['glpat-', 'gldt-', 'glrt-'].map((prefix) => [prefix + made(20), made(20)]),
  npm: [[`npm_${made(36)}`, made(36)]],
  PyPI: [[`pypi-${made(60)}`, made(60)]],
  Slack: ['xoxb-', 'xoxp-', 'xoxe-', 'xapp-1-'].map((prefix) => [`${prefix}123456789012-${made(24)}`, made(24)]),
  'a Slack webhook': [[`hooks.slack.com/services/T0000/B0000/${made(24)}`, made(24)]],
  SendGrid: [[`SG.${made(22)}.${made(43)}`, made(43)]],
  Twilio: [[`SK${hex(32)}`, hex(32)]],
  'a Stripe webhook': [[`whsec_${made(32)}`, made(32)]],
  'a key of a model provider': ['sk-', 'sk-ant-api03-', 'sk-proj-', 'sk_live_', 'rk_live_', 'gsk_', 'xai-', 'hf_'].map(
    (prefix) => [prefix + made(32), made(32)],
  ),
  'a password in a URL': [['postgres://user:hunter2@db.internal/app', 'hunter2']],
  'a user in a URL': [['https://a1b2c3d4e5f6@sentry.example/1', 'a1b2c3d4e5f6']],
  'a parameter of a URL': [[`https://a.example/x?sig=${made(20)}&b=1`, made(20)]],
  'an authorization header': [['Authorization: Digest username="x"', 'Digest']],
  'a key header': [['x-api-key: abc', 'abc']],
  'a key that is quoted': [['Incorrect API key provided: abcd1234', 'abcd1234']],
  'a quoted field': [
    ['{"apiToken":"TOKCANARY99"}', 'TOKCANARY99'],
    ["client_secret: 'hunter22'", 'hunter22'],
    ['{"dbPassword": "correct-horse"}', 'correct-horse'],
    ['AccountKey="abcd=="', 'abcd=='],
  ],
  'a parameter': [
    ['password=PWDCANARY12345', 'PWDCANARY12345'],
    ['token=abcdef1234567890', 'abcdef1234567890'],
    ['Server=db;Database=app;Password=hunter22;', 'hunter22'],
    ['REFRESH_TOKEN=abcdefghij', 'abcdefghij'],
  ],
  'a field without quotes': [
    ['password: hunter22', 'hunter22'],
    ['secret = abcd1234', 'abcd1234'],
  ],
};

describe('S-5: the known shapes of secrets', () => {
  it('have a sample each', () => {
    expect(Object.keys(samples)).toEqual(secretShapes.map((shape) => shape.of));
  });

  it.each(Object.entries(samples).flatMap(([of, all]) => all.map(([text, secret]) => [of, text, secret] as const)))(
    '%s: %s',
    (_of, text, secret) => {
      const clean = redact(`The upstream said: ${text} is wrong.`);
      expect(clean).not.toContain(secret);
      expect(clean).toContain('[redacted]');
      expect(clean).toMatch(/^The upstream said: /);
    },
  );

  it('fields that are named like a secret are removed whole', () => {
    const value = { apiToken: 'x', client_secret: 'y', DB_PASSWORD: 'z', key: 'k', maxTokens: 'm', name: 'n' };
    expect(redactJson(value, [])).toEqual({
      ...{ apiToken: '[redacted]', client_secret: '[redacted]', DB_PASSWORD: '[redacted]' },
      ...{ key: 'k', maxTokens: 'm', name: 'n' },
    });
    expect(['accessKey', 'privateKey', 'refresh-token'].every(isSecretField)).toBe(true);
    expect(['tokenizer', 'promptTokens', 'cacheKey', 'monkey'].some(isSecretField)).toBe(false);
  });
});

describe('S-5: what is no secret', () => {
  it.each([
    'The token: a string that stands for a word. Tokens are counted, and the password is required.',
    'Set a password: at least eight characters, one of them a digit.',
    'This model has a maximum context length of 128000 tokens. max_tokens: 4096, total_tokens=131072.',
    'const token = await next(); const password = readline.question("Password: ");',
    'type Login = { user: string; password: string; token?: string | undefined };',
    'export API_TOKEN=$API_TOKEN; curl --data password={{ password }}',
    'if (secret === undefined) throw new Error("no secret");',
    `commit ${hex(40)} (HEAD -> main), sha256:${hex(64)}, md5 ${hex(32)}`,
    'id 123e4567-e89b-12d3-a456-426614174000 at 2026-11-28T12:00:00.000Z',
    `data:image/png;base64,${made(100)}`,
    'https://docs.example/api/keys#token-limits, mailto:ada@example.org, git@github.com:a/b.git',
    'npm_config_registry, sk-learn, pk-fire, key-value pairs, hf_hub, glossary, pypi-server',
    'The turn is turn-1/attempt-2/model; the effect has the key turn-1/plan.',
    'SKU SK-1234, section SG.1.2, flight AKIA12, Basic English, Bearer of news.',
    'tokens: input 1234, output 567; secretary: Ada Lovelace; keyboard=qwerty123',
  ])('%s', (text) => expect(redact(text)).toBe(text));

  it('is found in time linear in the text', () => {
    for (const piece of [
      'a-',
      'token',
      'eyJ',
      'sk-',
      '//',
      'password=',
      '-----BEGIN PRIVATE KEY-----',
      'xox',
      'gh',
      '"',
    ])
      expect(typeof redact(piece.repeat(20_000))).toBe('string');
  });
});
