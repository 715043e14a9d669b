import type { Failure } from '../../../machines/index.ts';
import { sleep } from '../../host/clock.ts';
import { messageOf, type PawlError } from '../../input/errors.ts';
import { UnansweredError, UnsentError } from '../../journal/journal-errors.ts';
import type { TreeLog } from '../../journal/tree-log.ts';
import { redact } from '../../secrets/redact.ts';
import type { RootSession } from '../running-session.ts';

/** Lets go of a session and its sub-agents: writes everything down and gives the lease back. */
export class Suspension {
  private readonly done: Promise<void>;
  private readonly root: RootSession;
  private readonly over = new AbortController();

  constructor(root: RootSession, tree: TreeLog) {
    this.root = root;
    this.done = suspendTree(root, tree, this.over);
  }

  /** Gives running effects this long to end; the earliest limit applies. Resolves when everything is done. */
  within(graceMs: number): Promise<void> {
    const { signal } = this.over;
    void sleep(this.root.wired.clock, graceMs, signal).then(() => this.over.abort());
    return this.done;
  }
}

async function suspendTree(root: RootSession, tree: TreeLog, over: AbortController): Promise<void> {
  const drivers = () => root.tree().flatMap(({ wired }) => wired.journaled ?? []);
  for (const { wired } of root.tree()) wired.subSessions?.grants.suspend();
  const idle = Promise.all(drivers().map((driver) => driver.suspend()));
  await Promise.race([idle, new Promise((resolve) => over.signal.addEventListener('abort', resolve, { once: true }))]);
  over.abort();
  // What was accepted or written so far is delivered and recorded first. If the journal fails meanwhile, it never is.
  while (!tree.isClosed && drivers().some(({ isBusy }) => isBusy))
    await Promise.all(drivers().map((driver) => driver.settled()));
  if (root.wired.machine.hasEnded) {
    await root.result;
    return;
  }
  if (tree.isClosed) return;
  retire(root);
  const release = () => tree.release();
  await letGo(root, 'suspended', { slugs: ['suspended'], retryAt: null, detail: null }, release);
}

/** The journal failed, or another process has taken the session: does nothing more. */
export async function giveUp(root: RootSession, tree: TreeLog, error: PawlError): Promise<void> {
  // The session has ended; an event says that its end could not be written.
  if (root.wired.machine.hasEnded) return;
  retire(root);
  const detail = redact(error.message, root.wired.secrets);
  const failure: Failure = { slugs: ['journal_failed'], retryAt: null, detail };
  const status = tree.isBegun || (await mayBeBegun(tree, error)) ? 'suspended' : 'failed';
  await letGo(root, status, failure, () => tree.leave());
}

/** Whether the journal may hold the session although its first write failed. */
async function mayBeBegun(tree: TreeLog, error: PawlError): Promise<boolean> {
  if (error.code === 'session_exists' || error instanceof UnsentError) return false;
  // What a store holds now says nothing about a write that it may still carry out.
  return error instanceof UnansweredError || tree.holdsSession().catch(() => true);
}

/** Nothing more begins or is delivered, and nothing more is accepted. */
function retire(root: RootSession): void {
  for (const session of root.tree()) session.retire();
}

async function letGo(
  root: RootSession,
  status: 'failed' | 'suspended',
  failure: Failure,
  release: () => Promise<void>,
): Promise<void> {
  const sessions = root.tree();
  await Promise.allSettled(sessions.map(({ wired }) => wired.effects.tools.closeServers()));
  for (const session of sessions) if (session !== root) session.wired.observer.letGo(failure);
  const { observer } = root.wired;
  if (status === 'failed') observer.take({ type: 'session.failed', turns: 0, failure });
  else observer.sight({ type: 'session.suspended', failure });
  const released = release().then(
    () => failure,
    (error) => unwritten(root, error),
  );
  // Whatever comes late gets no position: the next process continues from these.
  for (const { wired } of sessions) wired.observer.silence();
  await root.letGo({ status, failure: await released });
}

/** The last write failed, or the lease was not given back. No event can say so any more; the log and the result do. */
function unwritten({ wired }: RootSession, error: unknown): Failure {
  const detail = redact(messageOf(error), wired.secrets);
  const failure: Failure = { slugs: ['journal_failed'], retryAt: null, detail };
  wired.observer.folds.log.sighting({ type: 'session.suspended', failure });
  return failure;
}
