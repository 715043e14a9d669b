import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { shellTool } from '../../src/workspace/index.ts';
import { isRunning } from '../support/processes.ts';
import { callsIn, report, run } from '../support/session.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'pawl-shell-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Throws until the file holds a whole line. */
function pidIn(file: string): number {
  const [, pid] = /^(\d+)\n/.exec(readFileSync(file, 'utf8')) ?? [];
  if (pid === undefined) throw new Error(`${file} is empty`);
  return Number(pid);
}

describe('shellTool', () => {
  it('runs a command in its directory, and returns its exit code and output', async () => {
    const cwd = folder();
    const tool = shellTool({ cwd });
    expect(await tool.execute({ command: 'pwd' })).toMatchObject({ exitCode: 0, stdout: `${cwd}\n`, stderr: '' });
    expect(await tool.execute({ command: 'echo "two words" | tr a-z A-Z; echo bad >&2; exit 3' })).toEqual({
      exitCode: 3,
      signal: null,
      stdout: 'TWO WORDS\n',
      stderr: 'bad\n',
    });
    await expect(tool.execute({ command: 'no-such-command-here' })).rejects.toThrow('could not be run');
  });

  it('runs a single command without a shell, so that its arguments have no special meaning', async () => {
    const tool = shellTool({ cwd: folder(), allow: ['echo *'] });
    expect(tool.needsApproval({ command: 'echo "$HOME ; ls" a' })).toBe(true);
    expect(tool.needsApproval({ command: "echo '$HOME ; ls' a" })).toBe(false);
    expect(await tool.execute({ command: "echo '$HOME ; ls' a" })).toMatchObject({ stdout: '$HOME ; ls a\n' });
  });

  it.skipIf(process.platform === 'win32')('runs what only a shell has in one', async () => {
    const { execute } = shellTool({ cwd: folder(), allow: ['*'] });
    expect(await execute({ command: 'cd .' })).toMatchObject({ exitCode: 0 });
    expect(await execute({ command: 'exit 3' })).toMatchObject({ exitCode: 3 });
  });

  it('has git run no program of a folder that only looks like a repository', async () => {
    const cwd = folder();
    execFileSync('git', ['init', '--quiet', '--bare', cwd]);
    execFileSync('git', ['config', 'core.fsmonitor', `touch ${cwd}/proof; false`], { cwd });
    execFileSync('git', ['config', 'core.bare', 'false'], { cwd });
    execFileSync('git', ['config', 'core.worktree', '.'], { cwd });
    for (const env of [{}, { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'a.b', GIT_CONFIG_VALUE_0: 'c' }]) {
      const { execute } = shellTool({ cwd, allow: ['git *'], env });
      expect(await execute({ command: 'git status' })).toMatchObject({ exitCode: 128 });
      expect(existsSync(join(cwd, 'proof'))).toBe(false);
      const { stdout } = await execute({ command: 'git --git-dir=. config a.b' });
      expect(stdout).toBe('GIT_CONFIG_COUNT' in env ? 'c\n' : '');
    }
  });

  it('a command needs approval unless it matches an allowed one', () => {
    const { needsApproval } = shellTool({ cwd: '.', allow: ['npm test', 'git status', 'ls *'] });
    const commands = ['npm test', 'git status', 'ls -l', 'npm test now', 'git push', 'ls -l; git push'];
    expect(commands.map((command) => needsApproval({ command }))).toEqual([false, false, false, true, true, true]);
    expect(shellTool({ cwd: '.' }).needsApproval({ command: 'ls' })).toBe(true);
  });

  it('gives a command no input, keeps characters whole, and says which signal ended it', async () => {
    const tool = shellTool({ cwd: folder() });
    expect(await tool.execute({ command: 'cat' })).toMatchObject({ exitCode: 0, stdout: '' });
    const halves = "printf '\\303'; sleep 0.1; printf '\\244'; printf '\\342\\202\\254' >&2";
    expect(await tool.execute({ command: halves })).toMatchObject({ stdout: 'ä', stderr: '€' });
    expect(await tool.execute({ command: 'kill -9 $$' })).toMatchObject({ exitCode: null, signal: 'SIGKILL' });
  });

  it('an abort after the end changes nothing, and no listener stays on its signal', async () => {
    const abort = new AbortController();
    const added = vi.spyOn(abort.signal, 'addEventListener');
    const removed = vi.spyOn(abort.signal, 'removeEventListener');
    const tool = shellTool({ cwd: folder() });
    await tool.execute({ command: 'echo done' }, { abortSignal: abort.signal });
    await tool.execute({ command: 'no-such-command-here' }, { abortSignal: abort.signal }).catch(() => undefined);
    const left = new Set(added.mock.calls.map(([, listener]) => listener));
    for (const [type, listener] of removed.mock.calls) if (type === 'abort') left.delete(listener as never);
    expect([added.mock.calls.length > 0, left.size]).toEqual([true, 0]);
    abort.abort();
  });

  it('passes no keys from the environment to a command', async () => {
    vi.stubEnv('SOME_API_KEY', 'secret-value');
    onTestFinished(() => void vi.unstubAllEnvs());
    const tool = shellTool({ cwd: folder(), env: { OWN: 'given' } });
    const { stdout } = (await tool.execute({ command: 'env' })) as { stdout: string };
    expect(stdout).toContain('OWN=given');
    expect(stdout).toContain('PATH=');
    expect(stdout).not.toContain('secret-value');
  });

  it('kills the process group on a timeout and on an abort, and keeps the output', async () => {
    const cwd = folder();
    const started = async (tool: ReturnType<typeof shellTool>, signal?: AbortSignal) => {
      const command = 'sleep 60 & echo $! > child; echo begun; wait';
      const error = await tool.execute({ command }, signal === undefined ? {} : { abortSignal: signal }).then(
        () => null,
        (thrown) => thrown,
      );
      return { error, child: Number(readFileSync(join(cwd, 'child'), 'utf8')) };
    };
    const late = await started(shellTool({ cwd, timeoutMs: 1_500 }));
    expect(late.error).toMatchObject({
      message: 'The command was killed after 1500 ms.',
      value: { stdout: 'begun\n' },
    });
    await expect.poll(() => isRunning(late.child)).toBe(false);
    const abort = new AbortController();
    rmSync(join(cwd, 'child'));
    const running = started(shellTool({ cwd }), abort.signal);
    await expect.poll(() => readFileSync(join(cwd, 'child'), 'utf8')).toMatch(/\d\n/);
    abort.abort();
    const aborted = await running;
    expect(aborted.error).toMatchObject({ message: 'The command was aborted.' });
    await expect.poll(() => isRunning(aborted.child)).toBe(false);
    const before = shellTool({ cwd }).execute({ command: 'touch too-late; sleep 1' }, { abortSignal: abort.signal });
    await expect(before).rejects.toThrow('aborted');
  });

  it("its timeout holds even if it is longer than the agent's for tools, and keeps the output", async () => {
    const tools = { shell: shellTool({ cwd: folder(), allow: ['*'], timeoutMs: 900 }) };
    const commands = ['echo begun; sleep 0.3; echo done', 'echo begun; sleep 60'];
    const calls = commands.map((command) => ({ name: 'shell', input: { command } }));
    const agent = defineAgent({
      name: 'shell',
      models: [rehearsalModel([{ calls }, report()])],
      tools,
      limits: { toolTimeoutMs: 100 },
    });
    const { result } = await run({ agent });
    expect(callsIn(result).slice(0, 2)).toMatchObject([
      { slug: null, result: { value: { exitCode: 0, stdout: 'begun\ndone\n' } } },
      {
        slug: 'tool_exec_failed',
        result: { message: 'The command was killed after 900 ms.', value: { stdout: 'begun\n' } },
      },
    ]);
  });

  it('kills background processes and does not wait for them', async () => {
    const cwd = folder();
    const ran = await shellTool({ cwd }).execute({ command: 'sleep 60 & echo $! > child; echo built' });
    const note = 'A process that the command left running in the background was killed.';
    expect(ran).toEqual({ exitCode: 0, signal: null, stdout: 'built\n', stderr: '', note });
    await expect.poll(() => isRunning(Number(readFileSync(join(cwd, 'child'), 'utf8')))).toBe(false);
  });

  it('kills running commands when the process exits', async () => {
    const cwd = folder();
    const tool = new URL('../../src/workspace/index.ts', import.meta.url).href;
    const script = `
      const { shellTool } = await import('${tool}');
      const { existsSync } = await import('node:fs');
      void shellTool({ cwd: process.cwd() }).execute({ command: 'sleep 60 & echo $! > child.tmp; mv child.tmp child; wait' });
      const look = () => (existsSync('child') ? process.exit(0) : setImmediate(look));
      look();`;
    execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '--eval', script], { cwd });
    await expect.poll(() => isRunning(Number(readFileSync(join(cwd, 'child'), 'utf8')))).toBe(false);
  });

  it('names a missing directory in the error', async () => {
    const tool = shellTool({ cwd: join(folder(), 'gone') });
    await expect(tool.execute({ command: 'pwd' })).rejects.toThrow(/gone does not exist/);
  });

  it('keeps the beginning and the end of a long output', async () => {
    const { stdout } = (await shellTool({ cwd: folder() }).execute({
      command: 'echo first; yes filler | head -c 2000000; echo; echo last',
    })) as { stdout: string };
    expect(stdout.length).toBeLessThan(201_000);
    expect(stdout.startsWith('first\n')).toBe(true);
    expect(stdout.endsWith('last\n')).toBe(true);
    expect(stdout).toMatch(/\[\d+ characters left out\]/);
  });

  it.each([
    [200_000, 0],
    [200_001, 1],
    [300_005, 100_005],
    [450_000, 250_000],
  ])('of %i characters, %i are left out', async (length, leftOut) => {
    const tool = shellTool({ cwd: folder() });
    const { stdout } = (await tool.execute({ command: `yes 12345678 | tr -d '\\n' | head -c ${length}` })) as {
      stdout: string;
    };
    const [head = '', tail] = stdout.split(`\n[${leftOut} characters left out]\n`);
    const whole = '12345678'.repeat(length / 8 + 1).slice(0, length);
    expect([head, tail]).toEqual(leftOut === 0 ? [whole, undefined] : [whole.slice(0, 100_000), whole.slice(-100_000)]);
  });

  it.each([
    [{}, '`options.cwd` is required: the path of a directory'],
    [{ cwd: '.', timeoutMs: 0 }, '`options.timeoutMs` must be an integer from 1 to 2147483647 (ms)'],
    [{ cwd: '.', allow: 'npm test' }, '`options.allow` must be an array of commands'],
    [{ cwd: '.', shell: true }, 'shell'],
  ])('refuses the options %j', (options, problem) => {
    expect(() => shellTool(options as never)).toThrow(problem);
    expect(() => shellTool(options as never)).toThrow(expect.objectContaining({ code: 'invalid_options' }));
  });

  it.each([
    ['SIGINT', false],
    ['SIGTERM', false],
    ['SIGHUP', false],
    ['SIGTERM', true],
  ] as const)('ends its commands with a process that %s ends; one that listens for it: %s', async (signal, listens) => {
    const cwd = folder();
    const tool = `import { shellTool } from '${join(import.meta.dirname, '../../src/workspace/index.ts')}';
      ${listens ? `process.once('${signal}', () => setTimeout(() => process.exit(7), 50));` : ''}
      shellTool({ cwd: ${JSON.stringify(cwd)} }).execute({ command: 'echo $$ > pid; exec sleep 60' });`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', tool], { stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', (code, by) => resolve(code ?? by)));
    const pid = await vi.waitFor(() => pidIn(join(cwd, 'pid')), 30_000);
    expect(isRunning(pid)).toBe(true);
    child.kill(signal);
    expect(await ended).toBe(listens ? 7 : signal);
    await expect.poll(() => isRunning(pid)).toBe(false);
  });
});
