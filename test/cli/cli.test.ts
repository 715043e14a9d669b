import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type ModelServer, startModelServer } from '../../src/testing/index.ts';
import { pawl, pawlOnTerminal } from '../support/pawl.ts';
import { report } from '../support/session.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('the command', () => {
  it('demo: with no key, shows the misbehaviour, the notices and the report, and succeeds', async () => {
    const { code, stdout } = await pawl(['demo']);
    expect(code).toBe(0);
    for (const part of [
      'empty_response',
      'unknown_tool',
      'malformed_tool_call',
      'text_only',
      'system notice: ',
      '● succeeded',
      'of at most 32',
      'files__list_directory',
    ]) {
      expect(stdout).toContain(part);
    }
    expect(stdout).toContain('specification.md');
  });

  it('demo: an empty directory is reported on too', async () => {
    const empty = mkdtempSync(join(folder, 'empty-'));
    const { code, stdout } = await pawl(['demo', empty, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).report.content).toContain('0 files');
  });

  it('serve: a port that is taken is refused with one sentence', async () => {
    await using server = await startModelServer([]);
    const agent = file('served.mjs', "export default { name: 'served', models: ['openai:gpt-5'] };");
    const { code, stderr } = await pawl(['serve', '--mcp', agent, '--http', new URL(server.url).port]);
    expect(code).toBe(2);
    expect(stderr).toContain('a free port is needed');
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it("demo: reads the user's own directory, and nothing beyond it", async () => {
    file('README.md', '# A small project\n\nIt does one thing, and it does that thing well enough.\n');
    const { code, stdout } = await pawl(['demo', folder, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'succeeded',
      report: { content: expect.stringContaining('A small project') },
    });
  });

  it('run: with --base-url finds the model by itself, and --json prints the result alone', async () => {
    await using server = await startModelServer(({ method }) =>
      method === 'GET' ? { body: '{"data":[{"id":"local-model"}]}' } : report('# Done'),
    );
    const { code, stdout } = await pawl(['run', '--base-url', server.url, '--json', 'Say done.']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ success: true, report: { content: '# Done' } });
    expect(server.requests.at(-1)?.body.model).toBe('local-model');
  });

  it('run: an agent in Markdown has front matter and instructions as its body', async () => {
    await using server = await startModelServer([
      { calls: [{ name: 'add', input: { a: 1, b: 2 } }] },
      report({ sum: 3 }),
    ]);
    file('tools.mjs', 'export default { add: ({ a, b }) => a + b };');
    const agent = file(
      'adder.md',
      '---\nname: adder\ntools: ./tools.mjs\nlimits:\n  maxTurns: 2\nreport:\n  format: json\n  schema:\n    type: object\n    required: [sum]\n---\nYou add numbers.\n',
    );
    const { code, stdout } = await pawl([
      'run',
      '--agent',
      agent,
      '--base-url',
      server.url,
      '--model',
      'm',
      '--json',
      'Add 1 and 2.',
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      agent: 'adder',
      report: { content: { sum: 3 } },
      counters: { toolCalls: { executed: 1 } },
    });
    expect(server.requests[0]?.body.messages[0]).toEqual({ role: 'system', content: 'You add numbers.' });
  });

  it('run: an agent in a module', async () => {
    await using server = await startModelServer([{ text: 'Hi there.' }]);
    const agent = file('chat.mjs', "export default { name: 'chat', models: [], finish: 'text' };");
    const { code, stdout } = await pawl(['run', '--agent', agent, '--base-url', server.url, '--model', 'm', 'Hi.']);
    expect(code).toBe(0);
    expect(stdout).toContain('Hi there.');
  });

  it('run: what a model says cannot steer the terminal', async () => {
    const said = 'One\ttwo\nthree \u001b[2J\u009b2J\r\u0007four';
    await using server = await startModelServer([{ text: said }, report(said)]);
    const { code, stdout } = await pawl(['run', '--base-url', server.url, '--model', 'm', 'Hi.']);
    expect(code).toBe(0);
    expect(stdout).toContain('One\ttwo\nthree �[2J�2J��four');
    expect(stdout.match(/(?![\t\n])\p{Cc}/gu)).toBeNull();
  });

  describe('on a terminal', () => {
    const careful = (approvalTimeoutMs: number | null) =>
      file(
        'careful.mjs',
        `const remove = { inputSchema: { type: 'object' }, needsApproval: true, execute: ({ path }) => path + ' is gone' };
        export default { name: 'careful', models: [], tools: { remove }, limits: { approvalTimeoutMs: ${approvalTimeoutMs} } };`,
      );
    const removal = (path: string) => ({ calls: [{ name: 'remove', input: { path } }] });
    const run = ({ url }: ModelServer, agent: string) =>
      `run --agent ${agent} --base-url ${url} --model m Go.`.split(' ');
    const results = ({ requests }: ModelServer) =>
      requests.at(-1)?.body.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []));

    it('one line at the bottom says how much of the bound is used, and nothing of it stays', async () => {
      const { code, written, screen } = await pawlOnTerminal(['demo']);
      expect(code).toBe(0);
      expect(written).toMatch(/requests 1\/32 tokens .* tools 0 run 0\/0 answered/);
      expect(screen).not.toContain('requests 1/32');
      expect(screen).toContain('● succeeded');
    });

    it('C-1: a call that needs approval is asked about, and runs when the answer is yes', async () => {
      await using server = await startModelServer([removal('a'), removal('b'), report()]);
      let [asked, typed] = [0, ''];
      const { code, screen } = await pawlOnTerminal(run(server, careful(null)), (type, written) => {
        const questions = written.split('[y/N]').length - 1;
        if (questions <= asked) return;
        asked = questions;
        typed = asked === 1 ? 'y\r' : '\r';
        type(typed);
      });
      expect([code, asked]).toEqual([0, 2]);
      expect(screen).toContain('3 requested, 3 answered: 1 executed');
      expect(results(server)).toEqual(['a is gone', expect.stringContaining('decided at the keyboard')]);
    });

    it('C-1: a question whose call timed out is withdrawn: the next answer is for the next call', async () => {
      await using server = await startModelServer([removal('a'), removal('b'), report()]);
      const { code } = await pawlOnTerminal(run(server, careful(1_500)), (type, written) => {
        if (/b"\}\? \[y\/N\] [^a-z]*$/.test(written)) type('y\r');
      });
      expect(code).toBe(0);
      expect(results(server)).toEqual([expect.stringContaining('Nobody approved this call in time'), 'b is gone']);
    });

    it('exit code 130: Ctrl-C at the question aborts, and says so', async () => {
      await using server = await startModelServer([removal('a')]);
      const { code, screen } = await pawlOnTerminal(run(server, careful(null)), (type, written) => {
        if (/\[y\/N\] [^a-z]*$/.test(written)) type('\u0003');
      });
      expect(code).toBe(130);
      expect(screen).toContain('interrupted at the keyboard');
    });
  });

  it('exit code 1: the session failed; the report says what to do, without a stack trace', async () => {
    const { code, stdout, stderr } = await pawl([
      'run',
      '--base-url',
      'http://127.0.0.1:9/v1',
      '--model',
      'm',
      '--max-retries',
      '1',
      'Hi.',
    ]);
    expect(code).toBe(1);
    expect(stdout).toContain('Check that the provider can be reached');
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(stderr.split('\n').filter((line) => line.includes('"level":50'))).toHaveLength(1);
  });

  it('exit code 1: a missing key names the variable', async () => {
    const { code, stdout } = await pawl(['run', '--model', 'openai:gpt-5', 'Hi.']);
    expect(code).toBe(1);
    expect(stdout).toContain('OPENAI_API_KEY');
  });

  it.each([
    [[], 'A command is needed'],
    [['fly'], 'There is no command fly'],
    [['run'], 'A prompt is needed'],
    [['run', 'Hi.'], 'No model is named'],
    [['run', '--model', 'gpt', 'Hi.'], 'models.0 is "gpt"'],
    [['run', '--max-turns', 'many', 'Hi.'], '--max-turns is many: an integer of at least 1 is allowed.'],
    [['run', '--base-url', 'nowhere', 'Hi.'], '--base-url is nowhere'],
    [['run', '--agent', 'absent.md', '--model', 'openai:x', 'Hi.'], 'The agent file'],
    [['demo', '/no/such/folder'], '/no/such/folder is not a directory'],
    [['demo', '--max-retries', '0'], 'limits.maxRetries is 0: an integer of at least 1 is allowed.'],
    [['run', '--fast', 'Hi.'], '--fast'],
  ])('exit code 2: %j', async (args, message) => {
    const { code, stdout, stderr } = await pawl(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('exit code 130: Ctrl-C aborts, and there is a report all the same', async () => {
    await using server = await startModelServer([{ hang: true }]);
    const { code, stdout } = await pawl(['run', '--base-url', server.url, '--model', 'm', 'Hi.'], (kill, seen) => {
      if (seen.includes('attempt 1')) kill('SIGINT');
    });
    expect(code).toBe(130);
    expect(stdout).toContain('aborted');
  });

  it('help and version', async () => {
    expect(await pawl(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit codes') });
    expect(await pawl(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});
