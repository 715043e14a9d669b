import type { Failure } from '../../../machines/index.ts';
import type { PawlError } from '../../errors.ts';
import { sleep, systemClock } from '../../host/clock.ts';
import type { TreeLog } from '../../journal/tree-log.ts';
import type { RootSession } from '../running-session.ts';

/** Lets go of a session and its sub-agents: all is written down, and the lease given back. */
export async function suspendTree(root: RootSession, graceMs: number): Promise<void> {
  const over = new AbortController();
  const idle = Promise.all(root.tree().map(({ wired }) => wired.journaled?.suspend()));
  await Promise.race([idle, sleep(systemClock, graceMs, over.signal).catch(() => undefined)]);
  over.abort();
  const tree = root.log?.tree;
  if (root.wired.machine.hasEnded || tree === undefined || tree.isClosed) return;
  const release = () => tree.release();
  await letGo(root, 'suspended', { slugs: ['suspended'], retryAt: null, detail: null }, release);
}

/** The journal failed, or another process has taken the session: does nothing more. */
export function giveUp(root: RootSession, tree: TreeLog, error: PawlError): void {
  const failure: Failure = { slugs: ['journal_failed'], retryAt: null, detail: error.message };
  void letGo(root, tree.isBegun ? 'suspended' : 'failed', failure, () => tree.leave());
}

async function letGo(
  root: RootSession,
  status: 'failed' | 'suspended',
  failure: Failure,
  release: () => Promise<void>,
): Promise<void> {
  const sessions = root.tree();
  for (const { wired } of sessions) wired.journaled?.release();
  await Promise.allSettled(sessions.map(({ wired }) => wired.effects.tools.closeServers()));
  await root.letGo(status, failure, release);
}
