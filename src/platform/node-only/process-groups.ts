/** Live process groups that this process started. They end with this process, except on SIGKILL. */
const groups = new Set<number>();
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Starts the leader of a process group. The group ends when this process ends, unless `endGroup` is called first. The
 * signals are listened for before the start: one that came between the start and the listener would end this process
 * alone.
 */
export function startGroup<Leader extends { readonly pid?: number | undefined }>(start: () => Leader): Leader {
  if (groups.size === 0) watch();
  try {
    const leader = start();
    if (leader.pid !== undefined) groups.add(leader.pid);
    return leader;
  } finally {
    if (groups.size === 0) unwatch();
  }
}

/** Ends all processes of a group at once. Returns whether there were any. */
export function endGroup(pid: number): boolean {
  const isAlive = signalGroup(pid, 'SIGKILL');
  if (groups.delete(pid) && groups.size === 0) unwatch();
  return isAlive;
}

/** Sends a signal to all processes of a group. Returns whether there were any. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // The group has already ended.
    return false;
  }
}

function endAll(): void {
  for (const group of groups) signalGroup(group, 'SIGKILL');
}

function onSignal(signal: NodeJS.Signals): void {
  // Other listeners decide what to do and close the session. Without any, the process exits as it would by default.
  if (process.listenerCount(signal) > 1) return;
  endAll();
  unwatch();
  process.kill(process.pid, signal);
}

function watch(): void {
  process.on('exit', endAll);
  // Prepended, because a `once` listener is removed when it is called.
  for (const signal of endingSignals) process.prependListener(signal, onSignal);
}

function unwatch(): void {
  process.off('exit', endAll);
  for (const signal of endingSignals) process.off(signal, onSignal);
}
