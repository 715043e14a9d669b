import { sleep, systemClock } from '../../host/clock.ts';
import { messageOf } from '../../input/errors.ts';
import { checkSession } from '../../journal/given.ts';
import type { Journal, SessionMessage } from '../../journal/journal.ts';
import type { ScopeLog } from '../../journal/scope-log.ts';
import type { TreeLog } from '../../journal/tree-log.ts';
import { approvalDecision, checkedAnswer, steering, theOne } from '../commands.ts';
import type { RootSession } from '../running-session.ts';
import type { AnswerOptions, ApprovalInput } from '../session.ts';
import { giveUp } from './suspension.ts';

/** Connects a session and its sub-agents to their log: its messages reach them, and its failure ends them. */
export function connect(root: RootSession, tree: TreeLog): void {
  tree.connect({
    position: () => root.life.observer.position,
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
    const meant = theOne(root, message.callId, message.sessionId);
    return meant === undefined ? [] : [callIn(meant, message.callId)];
  });
}

/** Takes in a message. Returns the log of the session that it is for; null if it is for none (D-2). */
export function receiveMessage(root: RootSession, message: SessionMessage): ScopeLog | null {
  switch (message.type) {
    case 'approve': {
      const { callId, approved, reason, sessionId } = message;
      const meant = theOne(root, callId, sessionId);
      return meant?.decide(callId, approved, reason) ? meant.log : null;
    }
    case 'answer': {
      const { callId, output, isError, sessionId } = message;
      const meant = theOne(root, callId, sessionId);
      return meant?.answerCall(callId, { output, isError }) ? meant.log : null;
    }
    case 'session.steer':
      return root.steer(message.text) ? root.log : null;
    case 'session.stop':
      root.stop();
      return root.log;
    case 'session.abort':
      root.abort(message.reason);
      return root.log;
    default:
      return message satisfies never;
  }
}

/**
 * Decides a call that awaits approval, from any process: whoever runs the session, now or later, takes the decision in.
 * Returns false if the journal holds no such session, or no call of this id waits in it. A decision for which none waits
 * by then, or several and none is named, is dropped.
 */
export async function approveSession(
  journal: Journal,
  sessionId: string,
  callId: string,
  decision: ApprovalInput,
): Promise<boolean> {
  return postFor(journal, sessionId, { type: 'approve', callId, ...approvalDecision(decision) });
}

/**
 * Answers a call of a client-side tool from any process (see `Session.answer`). Returns false if the journal holds no
 * such session, or no call of this id waits in it; see `approveSession`.
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
  if (!(await isWaiting(journal, sessionId, message.callId))) return false;
  return journal.post(sessionId, message);
}

/** How long a running session may take to record a waiting call that its listeners already know of, in ms. */
const writtenWithinMs = 250;
const lookAgainMs = 25;

/** Whether a call waits in a session. */
async function isWaiting(journal: Journal, sessionId: string, callId: string): Promise<boolean> {
  for (let waited = 0; ; waited += lookAgainMs) {
    const [session] = await journal.list({ sessionId });
    if (session?.waiting.includes(callId) === true) return true;
    if (session?.status !== 'running' || waited >= writtenWithinMs) return false;
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
