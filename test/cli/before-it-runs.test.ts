import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startModelServer } from '../../src/testing/index.ts';
import { TestBacklog } from '../support/backlog.ts';
import { atPrompts, pawl, pawlOnTerminal } from '../support/pawl.ts';
import { report } from '../support/session.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-cli-before-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const modelOf = ({ url }: { url: string }) => ['--base-url', url, '--model', 'm'];

describe('before a session begins', () => {
  it.each([
    ['-o', '/nope/report.md', /report\.md cannot be written: .*ENOENT/],
    ['--export', tmpdir(), /cannot be written: it is a folder/],
    ['-o', join(import.meta.filename, 'x'), /cannot be written: .* is no folder/],
    ['-o', `/tmp/${'x'.repeat(300)}`, /cannot be written: .*ENAMETOOLONG/],
  ])('%s %s is refused, and no request is made', async (flag, path, why) => {
    await using server = await startModelServer([report()]);
    const { code, stderr } = await pawl(['run', ...modelOf(server), flag, path, 'Hi.']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(why)]);
    expect(server.requests).toHaveLength(0);
  });

  it('what is wrong with an agent is told with its file', async () => {
    const agent = file('odd.mjs', "export default { name: 'odd', models: [], limits: { maxTurns: 0 } };");
    for (const command of [
      ['run', '--agent', agent],
      ['serve', '--mcp', agent],
    ]) {
      const { code, stderr } = await pawl([
        ...command,
        '--model',
        'openai:x',
        ...(command[0] === 'run' ? ['Hi.'] : []),
      ]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`${agent}: \`limits.maxTurns\` must be`)]);
    }
  });

  it('a run refuses an agent that it would need later, before it works on an item', async () => {
    await using server = await startModelServer([report()]);
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('agents/process.mjs', "export default { name: 'process', models: [] };");
    backlog.write('agents/test.mjs', "export default { name: 'test', models: [], limits: { maxTurns: 0 } };");
    const { code, stderr } = await pawl(['work', backlog.folder, ...modelOf(server)]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/agents\/test\.mjs: `limits\.maxTurns` must be/)]);
    expect([server.requests.length, backlog.has('.agent-state.json')]).toEqual([0, false]);
  });

  it('S-5: a server with a query is refused, which is not shown', async () => {
    const { code, stderr } = await pawl(['run', '--base-url', 'http://127.0.0.1:1/v1?key=hunter2word', 'Hi.']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('no query')]);
    expect(stderr).not.toContain('hunter2word');
  });
});

it('D-3: the command that resumes a session has the options that it needs, and works as it is printed', async () => {
  await using server = await startModelServer([report()]);
  const journal = join(folder, "it's.db");
  const bound = ['--max-turns', '3', '--max-retries', '2'];
  const { code, stderr } = await pawl(['run', ...modelOf(server), ...bound, '--journal', journal, 'Hi.']);
  expect(code).toBe(0);
  const [, printed = ''] = /and then: pawl (.*)/.exec(stderr) ?? [];
  const words = execFileSync('sh', ['-c', `printf '%s\\n' ${printed}`], { encoding: 'utf8' })
    .trim()
    .split('\n');
  expect(words).toEqual(expect.arrayContaining([journal, ...modelOf(server), ...bound]));
  const again = await pawl(words);
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('● succeeded')]);
  expect(server.requests).toHaveLength(1);
});

it.each([
  ['a line', 'y\r', ['\r'], 'tool_denied'],
  ['a part of a line', 'y', ['\r'], 'tool_denied'],
  // It is not echoed; what follows it is.
  ['the end of the input', '\u0004y', ['y\r'], null],
])('C-1: %s that was typed before the question does not answer it', async (_, typed, answers, slug) => {
  const careful = file(
    'careful.mjs',
    `const remove = { inputSchema: { type: 'object' }, needsApproval: true, execute: () => 'gone' };
    export default { name: 'careful', models: [], tools: { remove } };`,
  );
  let ask = () => {};
  const isTime = new Promise<void>((resolve) => {
    ask = resolve;
  });
  await using server = await startModelServer(async ({ body }) => {
    if (body.messages.some(({ role }) => role === 'tool')) return report();
    await isTime;
    return { calls: [{ name: 'remove', input: {} }] };
  });
  let typedAt: number | null = null;
  const early = (type: (keys: string) => void, written: string) => {
    if (typedAt === null && written.includes('turn 1')) {
      typedAt = written.length;
      type(typed);
    }
    // The terminal echoes what has reached it.
    if (typedAt !== null && written.includes('y', typedAt)) ask();
  };
  const args = ['run', '--agent', careful, ...modelOf(server), 'Go.'];
  const { code, screen } = await pawlOnTerminal(args, [early, atPrompts('[y/N] ', ...answers)]);
  expect(code).toBe(0);
  expect(screen).toContain(slug === null ? '1 tool call run' : `1 refused (${slug})`);
});
