import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/host/clock.ts';
import { type Agent, defineAgent, restTool } from '../../src/index.ts';
import { onNode } from '../../src/input/on-node.ts';
import { byteLength, toBase64, utf8Bytes, utf8Text } from '../../src/platform/bytes.ts';
import { builtin, environmentVariable, isInstalled, required } from '../../src/platform/node.ts';
import { isWithin } from '../../src/platform/node-only/paths.ts';
import { oneAtATime } from '../../src/platform/promises.ts';
import { SessionTools } from '../../src/session/effects/tools.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { watched } from '../support/observer.ts';

afterEach(() => vi.unstubAllGlobals());

describe.each(['with a Buffer', 'without one'])('bytes, on a runtime %s', (runtime) => {
  const on = () => {
    if (runtime === 'without one') vi.stubGlobal('Buffer', undefined);
  };

  it('are counted as UTF-8', () => {
    on();
    expect(['', 'abc', 'é', '€', '😀'].map(byteLength)).toEqual([0, 3, 2, 3, 4]);
  });

  it('become base64, of a part of a buffer too, and however many there are', () => {
    on();
    const all = new Uint8Array([0, 1, 2, 253, 254, 255]);
    expect(toBase64(all)).toBe('AAEC/f7/');
    expect(toBase64(all.subarray(3))).toBe('/f7/');
    expect(toBase64(all.buffer)).toBe('AAEC/f7/');
    expect(toBase64(new Uint8Array())).toBe('');
    const many = new Uint8Array(100_000).map((_, at) => at % 251);
    expect(Uint8Array.from(atob(toBase64(many)), (letter) => letter.charCodeAt(0))).toEqual(many);
  });

  it('become a text, and a text bytes', () => {
    on();
    expect(utf8Text(utf8Bytes('é 😀'))).toBe('é 😀');
    expect([...utf8Bytes('é')]).toEqual([0xc3, 0xa9]);
  });
});

describe('a path', () => {
  it.each([
    ['/a', '/a', true],
    ['/a', '/a/b/c', true],
    ['/a', '/a/..b', true],
    ['/a', '/a/../a/b', true],
    ['/a', '/ab', false],
    ['/a/b', '/a', false],
    ['/a/b', '/a/c', false],
    ['/a', '/', false],
    ['/', '/a', true],
  ])('below %j: %j is %j', (folder, path, within) => {
    expect(isWithin(folder, path)).toBe(within);
  });
});

describe('tasks one at a time', () => {
  it('run in call order, even after a failure', async () => {
    const run = oneAtATime();
    const ran: string[] = [];
    const first = Promise.withResolvers<void>();
    const results = [
      run(async () => {
        ran.push('first begins');
        await first.promise;
        ran.push('first ends');
        throw new Error('boom');
      }),
      run(async () => {
        ran.push('second');
        return 2;
      }),
    ];
    await new Promise(setImmediate);
    expect(ran).toEqual(['first begins']);
    first.resolve();
    expect(await Promise.allSettled(results)).toEqual([
      { status: 'rejected', reason: new Error('boom') },
      { status: 'fulfilled', value: 2 },
    ]);
    expect(ran).toEqual(['first begins', 'first ends', 'second']);
  });
});

describe('what a runtime has', () => {
  it('is found on Node', async () => {
    vi.stubEnv('PAWL_TEST_VALUE', 'x');
    expect(environmentVariable('PAWL_TEST_VALUE')).toBe('x');
    vi.unstubAllEnvs();
    expect(environmentVariable('PAWL_TEST_VALUE')).toBe(undefined);
    expect(builtin('node:fs')?.existsSync('/')).toBe(true);
    expect(isInstalled('xstate')).toBe(true);
    expect(isInstalled('no-such-package')).toBe(false);
    expect(required<object>('xstate')).toHaveProperty('createMachine');
    expect(required('no-such-package')).toBe(undefined);
    expect(await onNode('This', async () => 1)).toBe(1);
  });

  it('is missing elsewhere, and what needs it says so', async () => {
    vi.stubGlobal('process', undefined);
    const found = [environmentVariable('PATH'), builtin('node:fs'), isInstalled('no-such-package'), required('xstate')];
    const refused = await onNode('This', async () => 1).catch((error: unknown) => error);
    vi.unstubAllGlobals();
    expect(found).toEqual([undefined, undefined, true, undefined]);
    expect(refused).toMatchObject({
      name: 'PawlError',
      code: 'unsupported_runtime',
      message: 'This needs Node.js, Bun or Deno; this runtime has no file system.',
    });
  });

  it('is missing elsewhere: an MCP server is not opened, a REST tool sends nothing, and other tools are there', async () => {
    const ask = restTool({ method: 'GET', url: 'http://127.0.0.1:9/', allowPrivate: true, input: z.object({}) });
    const mcpServers = { docs: { command: 'no-such-command-anywhere' } };
    const agent = defineAgent({ name: 'a', models: [rehearsalModel([])], mcpServers });
    const { observer } = watched();
    const catalog = { show: async () => {} } as never;
    const opened = (mcpServers: Agent['mcpServers']) => {
      const own = { agent: { ...agent, mcpServers }, catalog, observer, clock: systemClock, subAgents: null };
      return new SessionTools(own).open(1_000, new AbortController().signal);
    };
    const { execute } = ask as unknown as { execute(input: object, run: object): Promise<void> };
    vi.stubGlobal('process', undefined);
    const missing = opened(agent.mcpServers);
    const others = opened({});
    const refused = execute({}, {}).catch((error: unknown) => error);
    const told = await Promise.all([missing, refused, others]).finally(() => vi.unstubAllGlobals());
    expect(told).toEqual([
      'An MCP server needs Node.js, Bun or Deno; this runtime has no file system.',
      expect.objectContaining({
        code: 'unsupported_runtime',
        message: 'A REST tool needs Node.js, Bun or Deno; this runtime has no file system.',
      }),
      null,
    ]);
  });
});

describe('an old Node', () => {
  const load = async (node: string | undefined) => {
    vi.resetModules();
    vi.stubGlobal('process', node === undefined ? undefined : { ...process, versions: { node } });
    try {
      return await import('../../src/platform/supported.ts').then(() => null);
    } catch (error) {
      return (error as Error).message;
    } finally {
      vi.unstubAllGlobals();
    }
  };

  it.each(['20.20.2', '22.12.9', '21.99.0'])('%s is refused with one sentence', async (node) => {
    expect(await load(node)).toBe(`Pawl needs Node 22.13 or later; this is Node ${node}.`);
  });

  it.each(['22.13.0', '22.20.1', '24.0.0', undefined])('%s is not', async (node) => {
    expect(await load(node)).toBe(null);
  });
});
