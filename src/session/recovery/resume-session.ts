import { checkContext } from '../../agent/context.ts';
import type { Agent } from '../../agent/definition.ts';
import { PawlError } from '../../input/errors.ts';
import { giveBack, type JournalEntry, type SessionHead } from '../../journal/journal.ts';
import { runsElsewhere } from '../../journal/journal-errors.ts';
import { forgetLeft } from '../../journal/left-here.ts';
import { randomId } from '../../platform/random-id.ts';
import { checkedResumeOptions } from '../input.ts';
import type { ResumeOptions, WithContext } from '../options.ts';
import { hasEnded, recordedHead, wasSuspended } from '../replay/recorded-entries.ts';
import type { RootSession } from '../running-session.ts';
import type { Session } from '../session.ts';
import { callIn, connect, decidedBy } from './messages.ts';
import { agentAsRecorded } from './recorded-agent.ts';
import { replayed } from './replayed-session.ts';

/** Far more positions than there are in what a crash can lose of a session's events: each character has one. */
const lostPositions = 2 ** 32;

/**
 * Resumes a session from its journal, after a crash or `suspend` (D-3, D-4). A session that has ended gives its
 * result. The session stays as it was when it rejects with `PawlError`: `session_unknown`; `session_taken`, while another
 * process holds it; `agent_changed` and `machines_changed`, with what differs; `tools_unavailable`, which may note servers
 * that did connect; `invalid_journal` and `journal_failed`.
 */
export async function resumeSession<Report, Context>(
  given: Agent<Report, Context>,
  options: ResumeOptions & WithContext<Context>,
): Promise<Session<Report>> {
  const own = checkedResumeOptions(given, options);
  checkContext(given, own.context);
  const { journal, sessionId } = own;
  const entries = await journal.read(sessionId);
  const head = recordedHead(entries, sessionId);
  const owner = randomId();
  if (hasEnded(entries)) {
    const { session, tree, conclude } = await replayed(given, own, head, entries, owner, { hasEnded: true });
    tree.close();
    conclude();
    return session;
  }
  const agent = agentAsRecorded(given, head, own.renamedModels);
  if (!(await journal.lease(sessionId, owner))) throw runsElsewhere(sessionId);
  forgetLeft(journal, sessionId);
  try {
    // Another process may have gone on meanwhile.
    const since = await journal.read(sessionId, entries.length);
    return await goOn(agent, own, head, entries.concat(since), owner);
  } catch (error) {
    await giveBack(journal, sessionId, owner);
    throw error;
  }
}

async function goOn<Report>(
  agent: Agent<Report>,
  options: ResumeOptions,
  head: SessionHead,
  entries: readonly JournalEntry[],
  owner: string,
): Promise<Session<Report>> {
  const { session, tree, conclude } = await replayed(agent, options, head, entries, owner, { hasEnded: false });
  const { life } = session;
  if (!wasSuspended(entries)) life.observer.moveTo(life.observer.position + lostPositions);
  const began = life.observer.position;
  connect(session, tree);
  const lives = session.tree().map((one) => one.life);
  for (const one of lives) one.catchUp();
  conclude();
  if (life.hasEnded) {
    // Its last step was delivered, but not taken: no listener has received it.
    for (const one of lives) one.observer.goLive();
    tellWhatWaits(session, began);
    return session;
  }
  try {
    await openTools(session, options);
    const messages = await tree.messages();
    life.observer.sight({ type: 'session.resumed', interrupted: lives.flatMap((one) => one.interrupted) });
    // No position of this life is visible before its beginning is durable.
    await tree.write();
    for (const one of lives) one.observer.goLive();
    tellWhatWaits(session, began, { decided: decidedBy(session, messages) });
    // Commands are delivered before anything begins (D-2).
    tree.listen(messages);
    session.goOn();
    return session;
  } catch (error) {
    tree.close();
    await Promise.allSettled(lives.map((one) => one.closeServers()));
    throw error;
  }
}

/** Opens the tools that had been open, unless the session is aborted. Throws `tools_unavailable`. */
async function openTools(session: RootSession, { signal, sessionId }: ResumeOptions): Promise<void> {
  if (signal?.aborted) return;
  const opening = signal ?? new AbortController().signal;
  const missing = await Promise.all(session.tree().map(({ life }) => life.reopenTools(opening)));
  const why = missing.find((one) => one !== null);
  if (why == null) return;
  const message = `The session ${sessionId} was not resumed, since tools could not be opened: ${why}`;
  throw new PawlError('tools_unavailable', message);
}

/**
 * Tells the listeners what came since the replay, and what is still waited for, as it was asked: approvals, but for the
 * calls that are `decided` by a message, and with `handedOut` client-side calls, which no effect hands out again.
 */
export function tellWhatWaits(
  session: RootSession,
  began: number,
  { decided = [], handedOut = false }: { decided?: readonly string[]; handedOut?: boolean } = {},
): void {
  session.life.retell(began, () => {
    const waiting = session.tree().flatMap((one) => one.waiting().map((call) => callIn(call, call.callId)));
    const open = new Set(waiting.filter((call) => !decided.includes(call)));
    return (event) => {
      const asks = event.type === 'tool.approvalRequested' || (handedOut && event.type === 'tool.handedOut');
      return asks && open.has(callIn(event, event.callId));
    };
  });
}
