import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { startGroup } from '../../src/platform/process-groups.ts';
import { isRunning } from '../support/processes.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const listeners = () => [...signals, 'exit'].map((name) => process.listenerCount(name));

describe('process groups', () => {
  it.each(signals)('D-2: a group that is still being started ends with the process that %s ends', async (signal) => {
    const script = `
      import { spawn } from 'node:child_process';
      import { startGroup } from '${join(import.meta.dirname, '../../src/platform/process-groups.ts')}';
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
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false));
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
