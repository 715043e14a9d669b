import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { defineAgent, runSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

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
