import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { tool } from 'ai';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineAgent, type Logger, runSession, type SessionResult } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

const failing = () => defineAgent({ name: 'silent', models: [rehearsalModel([{}])], limits: { maxRetries: 1 } });

it('S-2 S-3: any object with debug, info, warn and error is a logger', async () => {
  const lines: [string, object, string | undefined][] = [];
  const keep = (level: string) => (fields: object, message?: string) => void lines.push([level, fields, message]);
  const logger = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
  await runSession(failing(), { prompt: 'x', logger });
  expect(lines.filter(([level]) => level !== 'debug')).toEqual([
    ['warn', expect.objectContaining({ slugs: ['empty_response'] }), 'turn 1, attempt 1 failed: empty_response'],
    ['error', expect.objectContaining({ turns: 1 }), expect.stringMatching(/^session failed: retries_exhausted/)],
  ]);
});

it('S-6: a logger that changes the fields of a line changes nothing else', async () => {
  const spoil = (fields: Record<string, unknown>) => {
    for (const value of Object.values(fields)) {
      if (Array.isArray(value)) value.splice(0, value.length, 'mine');
      else if (typeof value === 'object' && value !== null)
        for (const name of Object.keys(value)) Reflect.set(value, name, 99);
    }
  };
  const spoiling = { debug: spoil, info: spoil, warn: spoil, error: spoil } as unknown as Logger;
  const [spoilt, whole] = await Promise.all(
    [spoiling, false as const].map((logger) =>
      runSession(failing(), { prompt: 'x', logger, metadata: { user: 'ada' }, sessionId: 's' }),
    ),
  );
  const { report: _, conversation: __, ...told } = whole ?? {};
  expect(JSON.parse(JSON.stringify(spoilt, timeless))).toMatchObject(JSON.parse(JSON.stringify(told, timeless)));
  assertInvariants(spoilt as SessionResult);
});

/** What two sessions cannot share. */
const timeless = (name: string, value: unknown) => (/^(durationMs|startedAt|endedAt|at)$/.test(name) ? 0 : value);

it('S-7: every line has the metadata of the session, and the session above it', async () => {
  const lines: Record<string, unknown>[] = [];
  const keep = (fields: object) => void lines.push({ ...fields });
  const logger = { debug: keep, info: keep, warn: keep, error: keep };
  const thrown = tool({
    inputSchema: z.object({}),
    execute: (): string => {
      throw new Error('no');
    },
  });
  const script = (name: string) => [
    { calls: [{ name, input: name === 'work' ? {} : { prompt: 'x', reason: 'y' } }] },
    report(),
  ];
  const helper = defineAgent({ name: 'helper', models: [rehearsalModel(script('work'))], tools: { work: thrown } });
  const agent = defineAgent({ name: 'above', models: [rehearsalModel(script('helper'))], agents: { helper } });
  const metadata = { tenant: 'blue' };
  await runSession(agent, { prompt: 'x', logger, metadata, sessionId: 's' });
  expect(new Set(lines.map(({ event }) => event))).toContain('tool.threw');
  for (const line of lines)
    expect(line).toMatchObject({ metadata, ...(line.agent === 'helper' && { parentSessionId: 's' }) });
});

it('S-3: with `logger: false`, nothing is logged', async () => {
  const write = vi.spyOn(process.stderr, 'write');
  const error = vi.spyOn(console, 'error');
  const result = await runSession(failing(), { prompt: 'x', logger: false });
  expect(result.success).toBe(false);
  expect([write.mock.calls, error.mock.calls]).toEqual([[], []]);
  vi.restoreAllMocks();
});

const program = (end: string) => `
import { defineAgent, runSession } from ${JSON.stringify(join(process.cwd(), 'src/index.ts'))};
import { rehearsalModel } from ${JSON.stringify(join(process.cwd(), 'src/testing/index.ts'))};
const agent = defineAgent({ name: 'silent', models: [rehearsalModel([{}])], limits: { maxRetries: 2 } });
${end}
`;

it.each([
  [
    'at once from a listener',
    "await runSession(agent, { prompt: 'x', onEvent: ({ type }) => type === 'session.failed' && process.exit() });",
  ],
  ['after the result', "await runSession(agent, { prompt: 'x' }); process.exit();"],
])('S-2 S-3: no line is lost by a process that exits %s', (_, end) => {
  const args = ['--no-warnings', '--input-type=module-typescript', '--eval', program(end)];
  const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(
    stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event),
  ).toEqual(['attempt.failed', 'attempt.failed', 'session.failed']);
});
