import { existsSync, readFileSync } from 'node:fs';

/**
 * Whether a process runs. One that has ended may still be listed, as a zombie, and one that was killed may wait on a busy
 * machine until it is scheduled once more.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (!existsSync('/proc/self/status')) return true;
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const pending = [...status.matchAll(/^(?:Sig|Shd)Pnd:\s*([0-9a-f]+)/gm)].map(([, mask = '0']) =>
      BigInt(`0x${mask}`),
    );
    return !/^State:\s*[ZX]/m.test(status) && !pending.some((mask) => (mask & sigkill) !== 0n);
  } catch {
    return false;
  }
}

/** Its place in the masks of pending signals. */
const sigkill = 1n << 8n;
