import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type StdioServer, StdioTransport, thinned } from '../../../src/tools/mcp/stdio.ts';

const open: StdioTransport[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const transport of open.splice(0)) await transport.close();
});

const message = (id: number) => ({ jsonrpc: '2.0' as const, id, method: 'ping' });

/** Starts a server whose program is `script`, and keeps what comes from it. */
async function started(script: string, more: Partial<StdioServer> = {}) {
  const messages: unknown[] = [];
  const errors: string[] = [];
  const stderr: string[] = [];
  const closed = Promise.withResolvers<void>();
  const args = ['--input-type=module', '--eval', script];
  const transport = new StdioTransport({ command: process.execPath, args, ...more }, (line) => void stderr.push(line));
  open.push(transport);
  transport.onmessage = (one) => void messages.push(one);
  transport.onerror = (error) => void errors.push(error.message);
  transport.onclose = closed.resolve;
  await transport.start();
  return { transport, messages, errors, stderr, closed: closed.promise };
}

describe('a server process that speaks MCP', () => {
  it('is read line by line, however they come, and its last words are heard', async () => {
    const { messages, errors, stderr, closed } = await started(`
      const line = (id) => JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' });
      const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
      process.stdout.write(line(1) + '\\n\\n  \\n' + line(2) + '\\n' + line(3).slice(0, 9));
      await pause();
      process.stdout.write(line(3).slice(9, 12));
      await pause();
      process.stderr.write('é one\\ntwo');
      process.stdout.write(line(3).slice(12) + '\\n{"no":1}\\nnot JSON ' + 'x'.repeat(300) + '\\n' + line(4) + '\\n');
    `);
    await closed;
    expect(messages).toEqual([message(1), message(2), message(3), message(4)]);
    expect(stderr).toEqual(['é one', 'two']);
    expect(errors).toHaveLength(2);
    for (const error of errors) expect(error).toMatch(/^not a message: ./);
    expect(errors.every((error) => error.length <= 'not a message: '.length + 200)).toBe(true);
  });

  it('gets what is sent, and its own environment and folder alone', async () => {
    vi.stubEnv('PAWL_SECRET', 'not for servers');
    const { transport, messages, closed } = await started(
      `
      process.stdin.once('data', (chunk) => {
        const { id } = JSON.parse(chunk);
        const params = { cwd: process.cwd(), own: process.env.OWN, secret: process.env.PAWL_SECRET ?? null };
        process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping', params }) + '\\n');
        process.exit();
      });`,
      { cwd: tmpdir(), env: { OWN: 'yes' } },
    );
    await transport.send(message(7));
    await closed;
    expect(messages).toEqual([{ ...message(7), params: { cwd: realpathSync(tmpdir()), own: 'yes', secret: null } }]);
    await expect(transport.send(message(8))).rejects.toThrow('the server process has ended');
  });

  it('that cannot be started says so', async () => {
    await expect(started('', { command: 'no-such-command-anywhere' })).rejects.toThrow('ENOENT');
    await expect(started('', { cwd: '/no/such/directory' })).rejects.toMatchObject({
      message: 'its directory /no/such/directory does not exist',
      cause: { code: 'ENOENT' },
    });
    const never = new StdioTransport({ command: 'x' }, () => {});
    await never.close();
    await expect(never.send(message(1))).rejects.toThrow('the server process has ended');
  });

  it.each<[string, string, string[]]>([
    ['at the end of its input', "process.stdin.on('end', () => end('input')).resume();", ['input']],
    ['at SIGTERM', "process.on('SIGTERM', () => end('SIGTERM')); setInterval(() => {}, 1_000);", ['SIGTERM']],
    ['at SIGKILL alone', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1_000);", []],
  ])('is closed %s', async (_, script, lastWords) => {
    const { transport, messages, stderr, closed } = await started(
      `const end = (why) => process.stderr.write(why + '\\n', () => process.exit());
      ${script} process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: process.pid, method: 'ping' }) + '\\n');`,
    );
    while (messages.length === 0) await new Promise(setImmediate);
    const [{ id: pid }] = messages as [{ id: number }];
    await transport.close();
    await closed;
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(stderr).toEqual(lastWords);
    await transport.close();
  });

  it('gets no arguments but its own', async () => {
    const stderr: string[] = [];
    const transport = new StdioTransport({ command: 'env' }, (line) => void stderr.push(line));
    open.push(transport);
    const closed = new Promise<void>((resolve) => {
      transport.onclose = resolve;
    });
    await transport.start();
    await closed;
    // With an argument, it would run another command.
    expect(stderr).toEqual([]);
  });

  it('that sends a message without end is disconnected, though it ignores SIGTERM', async () => {
    const { errors, messages, closed } = await started(`
      process.on('SIGTERM', () => {});
      const mebibyte = Buffer.alloc(1_024 * 1_024, 'x');
      const write = () => { while (process.stdout.write(mebibyte)); process.stdout.once('drain', write); };
      write();`);
    await closed;
    expect(errors[0]).toBe('message over 67108864 bytes; server disconnected');
    expect(messages).toEqual([]);
  });

  it('says what fails at its streams and its process, and lives', async () => {
    const { transport, errors, closed } = await started('process.stdin.resume();');
    const { child } = transport as unknown as { child: ChildProcessWithoutNullStreams };
    // The system gives no such errors on demand.
    child.stdout.emit('error', new Error('no output'));
    child.stderr.emit('error', new Error('no standard error'));
    child.stdin.emit('error', new Error('no input'));
    child.emit('error', new Error('cannot be killed'));
    expect(errors).toEqual(['no output', 'no standard error', 'no input', 'cannot be killed']);
    await transport.close();
    await closed;
  });

  it('that has ended leaves a child behind, whose message without end is harmless', async () => {
    // The child leads a group of its own, so it outlives the server.
    const flood = `process.stdin.on('end', () => process.stdout.write(Buffer.alloc(70 * 1_024 * 1_024, 'x'), () => process.exit())).resume();`;
    const { errors, closed } = await started(`
      import { spawn } from 'node:child_process';
      const input = spawn('sh', ['-c', 'sleep 0.3'], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
      const child = spawn(process.execPath, ['--eval', ${JSON.stringify(flood)}], {
        stdio: [input.stdout, 'inherit', 'ignore'],
        detached: true,
      });
      child.unref();
      process.exit();`);
    await closed;
    expect(errors).toEqual([]);
    await expect.poll(() => errors[0]).toBe('message over 67108864 bytes; server disconnected');
  });
});

describe('what a server writes to standard error', () => {
  it('is passed on whole at first, then by the hundred', () => {
    const lines: string[] = [];
    let now = 0;
    const pass = thinned(
      (line) => void lines.push(line),
      () => now,
    );
    for (let line = 1; line <= 700; line += 1) pass(`${line}`);
    expect(lines.slice(0, 500)).toEqual(Array.from({ length: 500 }, (_, index) => `${index + 1}`));
    expect(lines.slice(500)).toEqual(['[99 lines left out] 600', '[99 lines left out] 700']);
    // A server that lives long is heard again.
    now = 60_000;
    pass('a minute later');
    expect(lines.at(-1)).toBe('a minute later');
  });
});
