import type { Failure } from '../../../machines/index.ts';
import { type Clock, sleep } from '../../host/clock.ts';
import { messageOf, type PawlError } from '../../input/errors.ts';
import { UnansweredError, UnsentError } from '../../journal/journal-errors.ts';
import { noteLeft } from '../../journal/left-here.ts';
import type { TreeLog } from '../../journal/tree-log.ts';
import type { Ending } from '../result.ts';
import type { SubSession } from '../sub-agents/sub-session.ts';

/** The root of a tree of sessions, which ends without its machines. */
export type SuspendedRoot = Pick<SubSession, 'tree' | 'life' | 'result'> & { letGo(ending: Ending): Promise<void> };

/** Suspends a session and its sub-agents: writes everything to the journal and gives the lease back. */
export class Suspension {
  private readonly done: Promise<void>;
  private readonly clock: Clock;
  private readonly over = new AbortController();

  constructor(root: SuspendedRoot, tree: TreeLog, clock: Clock) {
    this.clock = clock;
    this.done = suspendTree(root, tree, this.over);
  }

  /** Gives running effects this long to end; the earliest limit applies. Resolves when everything is done. */
  within(graceMs: number): Promise<void> {
    const { signal } = this.over;
    void sleep(this.clock, graceMs, signal).then(() => this.over.abort());
    return this.done;
  }
}

async function suspendTree(root: SuspendedRoot, tree: TreeLog, over: AbortController): Promise<void> {
  const lives = () => root.tree().map(({ life }) => life);
  const idle = Promise.all(lives().map((life) => life.suspend()));
  await Promise.race([idle, new Promise((resolve) => over.signal.addEventListener('abort', resolve, { once: true }))]);
  over.abort();
  // What was accepted or written so far is delivered and recorded first. If the journal fails meanwhile, it never is.
  while (!tree.isClosed && lives().some(({ isBusy }) => isBusy))
    await Promise.all(lives().map((life) => life.settled()));
  if (root.life.hasEnded) {
    await root.result;
    return;
  }
  if (tree.isClosed) return;
  retire(root);
  // Whoever watches the journal in this process leaves it to others.
  noteLeft(tree.journal, tree.session.sessionId);
  const release = () => tree.release();
  await letGo(root, 'suspended', { slugs: ['suspended'], retryAt: null, detail: null }, release);
}

/** The journal failed, or another process has taken the session: does nothing more. */
export async function giveUp(root: SuspendedRoot, tree: TreeLog, error: PawlError): Promise<void> {
  // The session has ended; an event says that its end could not be written.
  if (root.life.hasEnded) return;
  retire(root);
  const failure = journalFailure(root, error);
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
function retire(root: SuspendedRoot): void {
  for (const { life } of root.tree()) life.retire();
}

async function letGo(
  root: SuspendedRoot,
  status: 'failed' | 'suspended',
  failure: Failure,
  release: () => Promise<void>,
): Promise<void> {
  const lives = root.tree().map(({ life }) => life);
  await Promise.allSettled(lives.map((life) => life.closeServers()));
  for (const life of lives) if (life !== root.life) life.observer.letGo(failure);
  root.life.told(status, failure);
  const released = release().then(
    () => failure,
    (error) => unwritten(root, error),
  );
  // Whatever comes late gets no position: the next process continues from these.
  for (const life of lives) life.observer.silence();
  await root.letGo({ status, failure: await released });
}

/** The last write failed, or the lease was not given back. No event can say so any more; the log and the result do. */
function unwritten(root: SuspendedRoot, error: unknown): Failure {
  const failure = journalFailure(root, error);
  root.life.logged(failure);
  return failure;
}

function journalFailure({ life }: SuspendedRoot, error: unknown): Failure {
  return { slugs: ['journal_failed'], retryAt: null, detail: life.redacted(messageOf(error)) };
}
