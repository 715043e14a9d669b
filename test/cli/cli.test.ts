import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type ModelServer, startModelServer } from '../../src/testing/index.ts';
import { atPrompts, command, pawl, pawlOnTerminal } from '../support/pawl.ts';
import { report } from '../support/session.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('the command', () => {
  it('demo: succeeds without a key, and shows the misbehaviour, the notices and the report', async () => {
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
      'list_directory',
    ]) {
      expect(stdout).toContain(part);
    }
    expect(stdout).toContain('architecture.md');
  });

  it('says that its output could not be written, and fails', () => {
    const { status, stderr } = spawnSync('sh', ['-c', `"$0" "$1" --help > /dev/full`, process.execPath, command], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^pawl: the output could not be written: ENOSPC.*\n$/)]);
  });

  it('demo: reports on an empty directory too', async () => {
    const empty = mkdtempSync(join(folder, 'empty-'));
    const { code, stdout } = await pawl(['demo', empty, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).report.content).toContain('0 files');
  });

  it('serve: a port in use causes a one-sentence error', async () => {
    await using server = await startModelServer([]);
    const agent = file('served.mjs', "export default { name: 'served', models: ['openai:gpt-5'] };");
    const model = ['--base-url', server.url, '--model', 'm'];
    const { code, stderr } = await pawl(['serve', '--mcp', agent, '--http', new URL(server.url).port, ...model]);
    expect(code).toBe(2);
    expect(stderr).toContain('`port` must be a free port; got ');
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('demo: reads the given directory and nothing outside it', async () => {
    file('README.md', '# A small project\n\nIt does one thing, and it does that thing well enough.\n');
    const { code, stdout } = await pawl(['demo', folder, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'succeeded',
      report: { content: expect.stringContaining('A small project') },
    });
  });

  it('run: --base-url names a server, and --json prints only the result', async () => {
    await using server = await startModelServer([report('# Done')]);
    const model = ['--base-url', server.url, '--model', 'local-model'];
    const { code, stdout } = await pawl(['run', ...model, '--json', 'Say done.']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ success: true, report: { content: '# Done' } });
    expect(server.requests.at(-1)?.body.model).toBe('local-model');
  });

  it('run: --max-seconds leaves one request for the report once the time is up', async () => {
    await using server = await startModelServer([
      { calls: [{ name: 'list_directory', input: { path: '.' } }], delayMs: 1_100 },
      report('# So far'),
    ]);
    const bound = ['--max-seconds', '1', '--base-url', server.url, '--model', 'm'];
    const { code, stdout } = await pawl(['run', ...bound, '--json', 'Look around.']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      report: { content: '# So far' },
      counters: { collapses: 1, requests: 2 },
    });
    expect(JSON.stringify(server.requests[1]?.body.messages.at(-1))).toContain('budget_exhausted');
  });

  it('run: a Markdown agent has settings in its front matter and instructions in its body', async () => {
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

  it('run: loads an agent from a module', async () => {
    await using server = await startModelServer([{ text: 'Hi there.' }]);
    const agent = file('chat.mjs', "export default { name: 'chat', models: [], finish: 'text' };");
    const { code, stdout } = await pawl(['run', '--agent', agent, '--base-url', server.url, '--model', 'm', 'Hi.']);
    expect(code).toBe(0);
    expect(stdout).toContain('Hi there.');
  });

  it('run: control characters from the model never reach the terminal', async () => {
    const said = 'One\ttwo\nthree \u001b[2J\u009b2J\r\u0007four \u202egpj.exe\u200b 👨\u200d👩';
    await using server = await startModelServer([{ text: said }, report(said)]);
    const { code, stdout } = await pawl(['run', '--base-url', server.url, '--model', 'm', 'Hi.']);
    expect(code).toBe(0);
    expect(stdout).toContain(
      'One\ttwo\nthree \\u{1b}[2J\\u{9b}2J\\u{d}\\u{7}four \\u{202e}gpj.exe\\u{200b} 👨\u200d👩',
    );
    expect(stdout.match(/(?![\t\n\u200d])[\p{Cc}\p{Cf}]/gu)).toBeNull();
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

    it('a status line at the bottom shows how much of the bound is used, and is cleared at the end', async () => {
      // Slow enough to be seen: a line that is gone within 50 ms is not drawn.
      await using server = await startModelServer([{ text: 'No.' }, { ...report('Done.'), delayMs: 500 }]);
      const { code, written, screen } = await pawlOnTerminal(run(server, careful(null)));
      expect(code).toBe(0);
      expect(written).toMatch(/ 2 of at most 50 requests · 0 tool calls run.* · [\d,]+ tokens · /);
      // The summary says it, once.
      expect(screen.match(/\d of at most 50 requests/g)).toEqual(['2 of at most 50 requests']);
      expect(screen).toContain('● succeeded');
    });

    it('C-1: a call that needs approval prompts the user, and runs only on yes', async () => {
      await using server = await startModelServer([removal('a'), removal('b'), report()]);
      const { code, screen } = await pawlOnTerminal(run(server, careful(null)), atPrompts('[y/N] ', 'y\r', '\r'));
      expect(code).toBe(0);
      expect(screen).toContain('1 tool call run, 1 refused (tool_denied)');
      expect(results(server)).toEqual(['a is gone', expect.stringContaining('decided at the keyboard')]);
    });

    it('C-1: the prompt for a timed-out call is withdrawn, so the next answer applies to the next call', async () => {
      await using server = await startModelServer([removal('a'), removal('b'), report()]);
      const { code } = await pawlOnTerminal(run(server, careful(1_500)), atPrompts('[y/N] ', null, 'y\r'));
      expect(code).toBe(0);
      expect(results(server)).toEqual([expect.stringContaining('The call was not approved in time'), 'b is gone']);
    });

    it('C-1: Ctrl-D at a prompt denies its call, and the next call is asked about', async () => {
      await using server = await startModelServer([removal('a'), removal('b'), report()]);
      const { code } = await pawlOnTerminal(run(server, careful(null)), atPrompts('[y/N] ', '\u0004', 'y\r'));
      expect(code).toBe(0);
      expect(results(server)).toEqual([expect.stringContaining('decided at the keyboard'), 'b is gone']);
    });

    it('exit code 130: Ctrl-C at the approval prompt aborts the session and says so', async () => {
      await using server = await startModelServer([removal('a')]);
      const { code, screen } = await pawlOnTerminal(run(server, careful(null)), atPrompts('[y/N] ', '\u0003'));
      expect(code).toBe(130);
      expect(screen).toContain('interrupted at the keyboard');
    });
  });

  it('exit code 1: a failed session reports what to do, without a stack trace', async () => {
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
    const lines = stderr.trim().split('\n');
    expect(lines.filter((line) => line.startsWith('ERROR session failed: retries_exhausted'))).toHaveLength(1);
    expect(lines[0]).toMatch(/^WARN {2}turn 1, attempt 1 failed: network_error \(.+\)$/);
  });

  it('--log json prints JSON lines on stderr, and --log-level decides which', async () => {
    const args = ['run', '--base-url', 'http://127.0.0.1:9/v1', '--model', 'm', '--max-retries', '1', 'Hi.'];
    const json = await pawl([...args, '--log', 'json']);
    expect(
      json.stderr
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).level),
    ).toEqual([40, 50]);
    const errors = await pawl([...args, '--log-level', 'error']);
    expect(errors.stderr).toMatch(/^ERROR session failed: .+\n$/);
    expect((await pawl([...args, '--log-level', 'silent'])).stderr).toBe('');
  });

  it.each([
    [[], 'Missing command: run, chat, init, demo, serve'],
    [['fly'], 'Unknown command "fly". Commands: run, chat, init, demo'],
    [['run'], 'Missing prompt'],
    [['run', 'Hi.'], 'No model is set'],
    [['run', '--model', 'gpt', 'Hi.'], '`models[0]` must be `provider:model`'],
    [['run', '--model', '', '--base-url', 'http://x', 'Hi.'], '`--model` must be a text that is not blank; got "".'],
    [['run', '--max-turns', 'many', 'Hi.'], '`--max-turns` must be an integer of at least 1; got "many".'],
    [['run', '--base-url', 'nowhere', 'Hi.'], '`--base-url` must be a URL such as'],
    [['run', '--base-url', 'ftp://x', '--model', 'm', 'Hi.'], '`--base-url` must be a URL such as'],
    [
      ['run', '--base-url', 'http://u:p@x', '--model', 'm', 'Hi.'],
      '`--base-url` must hold no user, no password and no query',
    ],
    [['run', '--agent', 'absent.md', '--model', 'openai:x', 'Hi.'], 'The agent file'],
    [['demo', '/no/such/folder'], '/no/such/folder is not a directory'],
    [['demo', '--max-retries', '0'], '`--max-retries` must be an integer of at least 1; got "0".'],
    [['run', '--fast', 'Hi.'], '--fast'],
    [['run', '--log', 'xml', 'Hi.'], '`--log` must be human or json; got "xml".'],
    [['run', '--model', 'openai:gpt-5', 'Hi.'], 'openai:gpt-5 needs a key: set OPENAI_API_KEY.'],
    [['run', '--model', 'mistral:small', 'Hi.'], 'npm install @ai-sdk/mistral'],
  ])('exit code 2: %j', async (args, message) => {
    const { code, stdout, stderr } = await pawl(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('exit code 130: Ctrl-C aborts the session, which still prints a report', async () => {
    await using server = await startModelServer([{ hang: true }]);
    const { code, stdout } = await pawl(['run', '--base-url', server.url, '--model', 'm', 'Hi.'], (kill, seen) => {
      if (seen.includes('attempt 1')) kill('SIGINT');
    });
    expect(code).toBe(130);
    expect(stdout).toContain('aborted');
  });

  it('--help and --version print to stdout with exit code 0', async () => {
    expect(await pawl(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit codes') });
    expect(await pawl(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});
