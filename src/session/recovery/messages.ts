import { sleep, systemClock } from '../../host/clock.ts';
import { messageOf } from '../../input/errors.ts';
import { checkSession } from '../../journal/given.ts';
import type { Journal, SessionMessage, WaitingCall } from '../../journal/journal.ts';
import type { ScopeLog } from '../../journal/scope-log.ts';
import type { TreeLog } from '../../journal/tree-log.ts';
import { approvalDecision, checkedAnswer, steering } from '../commands.ts';
import { type MeantCall, theCall, theOne } from '../deciding.ts';
import { endInJournal } from '../result.ts';
import type { RootSession } from '../running-session.ts';
import type { AnswerOptions, ApprovalInput } from '../session.ts';
import { giveUp } from './suspension.ts';

/** Connects a session and its sub-agents to their log: its messages reach them, and its failure ends them. */
export function connect(root: RootSession, tree: TreeLog): void {
  tree.connect({
    position: () => root.life.observer.position,
    ending: () => endInJournal(root.life.observer.toldEnd),
    waiting: () => root.tree().flatMap((one) => one.waiting()),
    receive: (message) => receiveMessage(root, message),
    failed: (error) => void giveUp(root, tree, error),
    troubled: (error) => root.life.observer.userCodeFailed('journal', error),
  });
}

/** Names a call among those of all sessions of a tree. */
export function callIn({ sessionId }: { sessionId: string }, callId: string): string {
  return `${sessionId} ${callId}`;
}

/** The calls that messages decide, which were left while the session did not run. */
export function decidedBy(root: RootSession, messages: Awaited<ReturnType<TreeLog['messages']>>): string[] {
  return messages.flatMap(({ message }) => {
    if (message.type !== 'approve') return [];
    const meant = theOne(root, { ...message, awaits: 'approval' });
    return meant === undefined ? [] : [callIn(meant, message.callId)];
  });
}

/** Takes in a message. Returns the log of the session that it is for; null if it is for none (D-2). */
export function receiveMessage(root: RootSession, message: SessionMessage): ScopeLog | null {
  switch (message.type) {
    case 'approve': {
      const { callId, approved, reason, sessionId, input = null } = message;
      const meant = theOne(root, { callId, sessionId, awaits: 'approval' });
      return meant?.decide(callId, { approved, reason, input }) ? meant.log : null;
    }
    case 'answer': {
      const { callId, output, isError, sessionId } = message;
      const meant = theOne(root, { callId, sessionId, awaits: 'answer' });
      return meant?.answerCall(callId, { output, isError }) ? meant.log : null;
    }
    case 'session.steer':
      return root.steer(message.text) ? root.log : null;
    case 'session.stop':
      root.stop();
      return root.log;
    case 'session.compact':
      // No function sends it to an agent that never compacts, which would refuse it.
      return root.canCompact && root.compact() ? root.log : null;
    case 'session.abort':
      root.abort(message.reason);
      return root.log;
    default:
      return message satisfies never;
  }
}

/**
 * Decides a call that awaits approval, from any process: whoever runs the session, now or later, takes the decision in.
 * Returns false where it decides nothing: no such session, no call of this id that waits for approval, several and none
 * named, or a decision that was given before. Between true and the moment the decision is taken in, at most 250 ms in a
 * session that runs, its own process may still decide otherwise, or `approvalTimeoutMs` end (D-2f).
 */
export async function approveSession(
  journal: Journal,
  sessionId: string,
  callId: string,
  decision: ApprovalInput,
): Promise<boolean> {
  const { input, ...rest } = approvalDecision(decision);
  return postFor(journal, sessionId, { type: 'approve', callId, ...rest, ...(input !== null && { input }) });
}

/**
 * Answers a call of a client-side tool from any process (see `Session.answer`). Returns false where it answers nothing,
 * as `approveSession` does.
 */
export async function answerSession(
  journal: Journal,
  sessionId: string,
  callId: string,
  output: unknown,
  options: AnswerOptions = {},
): Promise<boolean> {
  const { answer, sessionId: meant } = checkedAnswer(output, options);
  return postFor(journal, sessionId, { type: 'answer', callId, ...answer, sessionId: meant });
}

async function postFor(
  journal: Journal,
  sessionId: string,
  message: Extract<SessionMessage, { callId: string }>,
): Promise<boolean> {
  checkSession(journal, sessionId);
  const call = await waitingCall(journal, sessionId, message);
  return call !== null && journal.post(sessionId, { ...message, sessionId: call.sessionId });
}

/** How long a running session may take to record a waiting call that its listeners already know of, in ms. */
const writtenWithinMs = 250;
const lookAgainMs = 25;

/** Returns the call of a session that a message means; null if none waits. */
async function waitingCall(
  journal: Journal,
  sessionId: string,
  message: Extract<SessionMessage, { callId: string }>,
): Promise<WaitingCall | null> {
  const meant: MeantCall = { ...message, awaits: message.type === 'approve' ? 'approval' : 'answer' };
  for (let waited = 0; ; waited += lookAgainMs) {
    const [session] = await journal.list({ sessionId });
    const call = theCall(session?.waitingCalls ?? [], meant);
    if (call !== null || session?.status !== 'running' || waited >= writtenWithinMs) return call;
    await sleep(systemClock, lookAgainMs);
  }
}

/** Steers a session from any process (see `Session.steer`). Returns false if it is unknown or has ended. */
export async function steerSession(journal: Journal, sessionId: string, text: string): Promise<boolean> {
  checkSession(journal, sessionId);
  return journal.post(sessionId, steering(text));
}

/** Stops a session from any process (see `Session.stop`). Returns false if it is unknown or has ended. */
export async function stopSession(journal: Journal, sessionId: string): Promise<boolean> {
  checkSession(journal, sessionId);
  return journal.post(sessionId, { type: 'session.stop' });
}

/** Aborts a session from any process (see `Session.abort`). Returns false if it is unknown or has ended. */
export async function abortSession(
  journal: Journal,
  sessionId: string,
  reason: unknown = 'aborted by the caller',
): Promise<boolean> {
  checkSession(journal, sessionId);
  return journal.post(sessionId, { type: 'session.abort', reason: messageOf(reason) });
}
