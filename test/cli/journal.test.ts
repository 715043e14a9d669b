import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { pawl } from '../support/pawl.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-cli-journal-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'pawl.db');
const journal = ['--journal', file];

describe('D-3: a session of the command is suspended, resumed, replayed, exported and forked', async () => {
  const suspended = await pawl(['demo', ...journal], (kill, stdout) => {
    // Long before its end.
    if (stdout.includes('session demo')) kill('SIGTERM');
  });
  const [listed] = JSON.parse((await pawl(['sessions', ...journal, '--json'])).stdout);
  const id: string = listed.sessionId;

  it('tells how to be killed and resumed; SIGTERM suspends it, and resume continues', async () => {
    expect(suspended.code).toBe(75);
    expect(suspended.stderr).toContain('Try kill -9 ');
    expect(suspended.stderr).toContain(`Suspended. To go on: pawl resume ${id} --journal ${file}`);
    expect(listed).toMatchObject({ agent: 'demo', status: 'suspended' });
    const resumed = await pawl(['resume', id, ...journal]);
    expect(resumed.code).toBe(0);
    expect(resumed.stdout).toContain('session demo resumed');
    expect(resumed.stdout).not.toContain('interrupted');
    expect(resumed.stdout).toContain('● succeeded');
    const again = await pawl(['resume', id, ...journal, '--json']);
    expect(JSON.parse(again.stdout)).toMatchObject({ status: 'succeeded', sessionId: id });
  });

  it('replay shows each step, and stops where it is told to', async () => {
    const { code, stdout } = await pawl(['replay', id, ...journal]);
    // It was suspended at any time, and what resumed it makes its mistakes again.
    expect([code, stdout]).toEqual([0, expect.stringMatching(/turn-1\/attempt-\d\/tool-1/)]);
    expect(stdout).toContain('attempt.failed unknown_tool, malformed_tool_call');
    const part = (await pawl(['replay', id, ...journal, '--until', 'turn-1/attempt-2'])).stdout;
    for (const text of [
      'session: running.turning',
      'attempt: requesting',
      'turn-1/attempt-2/model',
      'notice     ',
      '1 turns, 2 requests',
    ]) {
      expect(part).toContain(text);
    }
  });

  it('an exported session replays from its file, and a changed one is reported', async () => {
    const exported = await pawl(['export', id, ...journal]);
    const path = join(folder, 'session.jsonl');
    writeFileSync(path, exported.stdout);
    expect((await pawl(['replay', path])).code).toBe(0);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace('"finishReason":{"unified":"stop"', '"finishReason":{"unified":"length"'),
    );
    const changed = await pawl(['replay', path]);
    expect([changed.code, changed.stderr]).toEqual([
      1,
      expect.stringContaining('the machines take another way at entry'),
    ]);
  });

  it('a fork continues from a turn', async () => {
    const { code, stdout } = await pawl(['fork', id, '--at', 'turn-2', ...journal]);
    expect(code).toBe(0);
    const resumed = await pawl(['resume', stdout.trim(), ...journal, '--json']);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ status: 'succeeded', sessionId: stdout.trim() });
    expect((await pawl(['sessions', ...journal])).stdout.match(/succeeded {2}demo/g)).toHaveLength(2);
  });

  it.each([
    [['resume'], 'Missing session: pawl resume ID.'],
    [['resume', 'nobody', ...journal], 'The journal holds no session nobody'],
    [['replay', folder, ...journal], `The journal holds no session ${folder}`],
    [['replay', id, ...journal, '--until', 'turn-77'], 'The session has no turn-77.'],
    [['fork', id, ...journal], 'Pass one session and where to leave it'],
    [['sessions', '--journal', join(folder, 'none.db')], 'There is no journal'],
    [['sessions', '--at', 'turn-1'], '--at works with pawl fork'],
  ])('pawl %j is explained in a sentence', async (args, message) => {
    const { code, stderr } = await pawl(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

it('S-5: a journal that is not there is named without its password', async () => {
  const { code, stderr } = await pawl(['sessions', '--journal', 'mysql://user:hunter2word@db/prod']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('There is no journal mysql://')]);
  expect(stderr).not.toContain('hunter2word');
});
