import { existsSync, readFileSync } from 'node:fs';

/** Whether a process runs. One that has ended may still be listed, as a zombie. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync('/proc/self/stat') || !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
