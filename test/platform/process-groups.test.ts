import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { endGroup, signalGroup, startGroup } from '../../src/platform/node-only/process-groups.ts';
import { isRunning } from '../support/processes.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const listeners = () => [...signals, 'exit'].map((name) => process.listenerCount(name));

describe('process groups', () => {
  it.each(signals)('D-2: a group that is still being started ends with the process that %s ends', async (signal) => {
    const script = `
      import { spawn } from 'node:child_process';
      import { startGroup } from '${join(import.meta.dirname, '../../src/platform/node-only/process-groups.ts')}';
      startGroup(() => {
        const leader = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
        process.stdout.write(String(leader.pid));
        process.kill(process.pid, '${signal}');
        return leader;
      });`;
    const ended = spawnSync(process.execPath, ['--no-warnings', '--input-type=module', '--eval', script]);
    expect(ended.signal).toBe(signal);
    const pid = Number(ended.stdout);
    expect(pid).toBeGreaterThan(0);
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  it('leaves no listener on the process for a group that did not start', () => {
    const before = listeners();
    expect(() =>
      startGroup(() => {
        throw new Error('no such command');
      }),
    ).toThrow('no such command');
    expect(startGroup(() => ({}))).toEqual({});
    expect(listeners()).toEqual(before);
  });
});

describe('D-2: the groups that this process started', () => {
  let killed: MockInstance<typeof process.kill>;
  let before: number[];
  beforeEach(() => {
    before = listeners();
    killed = vi.spyOn(process, 'kill').mockImplementation(() => true);
  });
  afterEach(() => {
    for (const pid of [4_242, 4_243]) endGroup(pid);
    killed.mockRestore();
    expect(listeners()).toEqual(before);
  });
  const more = (count: number) => before.map((known) => known + count);

  it('are ended as a whole, and the process then listens for nothing', () => {
    expect(startGroup(() => ({ pid: 4_242 }))).toEqual({ pid: 4_242 });
    startGroup(() => ({ pid: 4_243 }));
    expect(() =>
      startGroup(() => {
        throw new Error('no such command');
      }),
    ).toThrow();
    expect(listeners()).toEqual(more(1));
    endGroup(4_242);
    expect([killed.mock.calls, listeners()]).toEqual([[[-4_242, 'SIGKILL']], more(1)]);
    endGroup(4_243);
    expect(listeners()).toEqual(before);
    // One that is unknown is ended too, and changes nothing else.
    endGroup(4_244);
    expect(killed.mock.calls.at(-1)).toEqual([-4_244, 'SIGKILL']);
  });

  it('are signalled, unless they have ended already', () => {
    signalGroup(4_242, 'SIGTERM');
    expect(killed.mock.calls).toEqual([[-4_242, 'SIGTERM']]);
    killed.mockImplementation(() => {
      throw new Error('ESRCH');
    });
    expect(() => signalGroup(4_242, 'SIGTERM')).not.toThrow();
  });

  it('on Windows are their leaders', () => {
    const platform = vi.spyOn(process, 'platform', 'get').mockReturnValue('win32');
    signalGroup(4_242, 'SIGTERM');
    platform.mockRestore();
    expect(killed.mock.calls).toEqual([[4_242, 'SIGTERM']]);
  });

  it('end when it exits', () => {
    startGroup(() => ({ pid: 4_242 }));
    startGroup(() => ({ pid: 4_243 }));
    (process.listeners('exit').at(-1) as (code: number) => void)(0);
    expect(killed.mock.calls).toEqual([
      [-4_242, 'SIGKILL'],
      [-4_243, 'SIGKILL'],
    ]);
  });

  it.each(signals)('end with the process that %s ends, before any other listener', (signal) => {
    const other = vi.fn();
    startGroup(() => ({ pid: 4_242 }));
    const own = process.listeners(signal)[0] as (signal: NodeJS.Signals) => void;
    process.on(signal, other);
    expect(process.listeners(signal)[0]).toBe(own);
    own(signal);
    // The other listener decides.
    expect(killed.mock.calls).toEqual([]);
    process.off(signal, other);
    own(signal);
    expect(killed.mock.calls).toEqual([
      [-4_242, 'SIGKILL'],
      [process.pid, signal],
    ]);
    expect(listeners()).toEqual(before);
  });
});
