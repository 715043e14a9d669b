import { type ApprovalOutcome, type CallName, isSameJson, type ToolOutcome, toolKey } from '../../machines/index.ts';
import type { WaitingCall } from '../journal/journal.ts';
import type { Folds } from '../observe/folds.ts';
import { withoutSecrets } from '../secrets/redact.ts';
import type { Questions } from '../tools/questions.ts';
import { approvalDecision, checkedAnswer } from './commands.ts';
import type { AnswerOptions, ApprovalInput } from './session.ts';
import type { ClientAnswer, GivenDecision, SubSession } from './sub-agents/sub-session.ts';

/** Decides a call of a session or its sub-agents. Returns false if none waits for it, or several do and none is named. */
export function approveOne(root: SubSession, callId: string, decision: ApprovalInput): boolean {
  const { sessionId, ...own } = approvalDecision(decision);
  return theOne(root, { callId, sessionId, awaits: 'approval' })?.decide(callId, own) === true;
}

type DecidingSession = {
  identity: { secrets: readonly string[] };
  observer: { folds: Pick<Folds, 'approvals' | 'conversation'> };
  machine: { answer: (key: string, outcome: ApprovalOutcome) => void };
};

/** Decides a call of a session. Returns false if it does not wait, or has another input than the decision names (D-7b). */
export function decideIn(
  { identity, observer, machine }: DecidingSession,
  callId: string,
  decision: GivenDecision,
): boolean {
  const { approvals, conversation } = observer.folds;
  const { approved, reason, input } = decision;
  const index = approvals.indexOf(callId);
  if (index === null) return false;
  const sent = conversation.inputOf(index);
  // The one who decides may have seen it with the secrets of the agent or without.
  const isSeen = () => isSameJson(input, sent) || isSameJson(input, withoutSecrets(sent, identity.secrets));
  if (input !== null && !isSeen()) return false;
  const key = approvals.takeCall(callId);
  if (key !== null) machine.answer(key, { decision: approved ? 'approved' : 'denied', reason });
  return key !== null;
}

/** Answers a call of a client-side tool, likewise. */
export function answerOne(root: SubSession, callId: string, output: unknown, options: AnswerOptions): boolean {
  const { answer, sessionId } = checkedAnswer(output, options);
  return theOne(root, { callId, sessionId, awaits: 'answer' })?.answerCall(callId, answer) === true;
}

type AnsweringSession = {
  observer: { folds: Pick<Folds, 'askedCalls' | 'clientCalls'> };
  effects: { questions: Questions; answered: (call: CallName, answer: ClientAnswer) => ToolOutcome };
  machine: { answer: (key: string, outcome: ToolOutcome) => void };
};

/** Answers what the server of a session's call asks, or else the call. Returns false if neither waits. */
export function answerIn(
  { observer, effects, machine }: AnsweringSession,
  callId: string,
  answer: ClientAnswer,
): boolean {
  const { clientCalls, askedCalls } = observer.folds;
  if (effects.questions.reply(callId, answer)) return askedCalls.takeCall(callId);
  const call = clientCalls.takeCall(callId);
  if (call !== null) machine.answer(toolKey(call), effects.answered(call, answer));
  return call !== null;
}

/** The calls of a session that wait. */
export function waitingIn(
  sessionId: string,
  { approvals, clientCalls, askedCalls }: Record<'approvals' | 'clientCalls' | 'askedCalls', { waiting: string[] }>,
): WaitingCall[] {
  const calls = ({ waiting }: { waiting: string[] }, awaits: WaitingCall['awaits']) =>
    waiting.map((callId) => ({ sessionId, callId, awaits }));
  return [...calls(approvals, 'approval'), ...calls(clientCalls, 'answer'), ...calls(askedCalls, 'answer')];
}

/** Which call a decision means, for a session that may be named. */
export type MeantCall = Omit<WaitingCall, 'sessionId'> & { sessionId: string | null };

/** Returns the one call, of those that wait, that can be meant. */
export function theCall(calls: readonly WaitingCall[], { sessionId, callId, awaits }: MeantCall): WaitingCall | null {
  const meant = calls.filter((one) => one.callId === callId && one.awaits === awaits);
  const named = sessionId === null ? meant : meant.filter((one) => one.sessionId === sessionId);
  return named.length === 1 ? (named[0] ?? null) : null;
}

/** Returns the session that made it. */
export function theOne(root: SubSession, meant: MeantCall): SubSession | undefined {
  const tree = root.tree();
  const call = theCall(
    tree.flatMap((one) => one.waiting()),
    meant,
  );
  return tree.find(({ sessionId }) => sessionId === call?.sessionId);
}
