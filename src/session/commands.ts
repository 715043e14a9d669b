import { z } from 'zod';
import { type CallName, type Json, type SessionSteer, type ToolOutcome, toolKey } from '../../machines/index.ts';
import { check } from '../input/check.ts';
import { PawlError, reasonOf, unexpected } from '../input/errors.ts';
import { flag, text } from '../input/shapes.ts';
import type { WaitingCall } from '../journal/journal.ts';
import type { Folds } from '../observe/folds.ts';
import { lazily } from '../platform/lazily.ts';
import { depthProblem } from '../platform/plain-json.ts';
import type { Questions } from '../tools/questions.ts';
import type { AnswerOptions, ApprovalInput, SuspendOptions } from './session.ts';
import type { ClientAnswer, SubSession } from './sub-agents/sub-session.ts';

/** Returns a value as JSON of its own. */
function jsonOf(output: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(output ?? null));
  } catch (error) {
    throw new PawlError('invalid_options', `\`output\` must be JSON: ${reasonOf(error)}.`, { cause: error });
  }
}

/** Checks the `steer` text. */
export function steering(text: unknown): SessionSteer {
  if (typeof text === 'string' && text.trim() !== '') return { type: 'session.steer', text };
  throw unexpected('invalid_options', 'text', text, 'a string that is not blank');
}

/** Checks a position in the event stream. */
export function position(seq: unknown): number {
  if (typeof seq === 'number' && Number.isInteger(seq) && seq >= 1) return seq;
  throw unexpected('invalid_options', 'seq', seq, 'an integer of at least 1');
}

const defaultGraceMs = 10_000;

const graceError = { error: 'a number of at least 0' };
const suspendSchema = lazily(() =>
  z.strictObject({
    // `Infinity` waits until all has ended.
    graceMs: z.custom<number>((ms) => typeof ms === 'number' && ms >= 0, graceError).default(defaultGraceMs),
  } satisfies Record<keyof SuspendOptions, z.ZodType>),
);

/** Checks the options of `suspend`. Returns how long it waits, in ms. */
export function graceOf(options: SuspendOptions): number {
  return check(suspendSchema(), options, 'options', 'invalid_options').graceMs;
}

type Decision = { approved: boolean; reason: string | null; sessionId: string | null };

/** Checks the `approve` decision. */
export function approvalDecision(decision: ApprovalInput): Decision {
  return check(decisionSchema(), decision, 'decision', 'invalid_options');
}

/** Checks the answer to a call of a client-side tool. */
export function checkedAnswer(
  output: unknown,
  options: AnswerOptions,
): { answer: ClientAnswer; sessionId: string | null } {
  const { isError, sessionId } = check(answerSchema(), options, 'options', 'invalid_options');
  const json = jsonOf(output);
  const why = depthProblem(json);
  if (why !== null) throw new PawlError('invalid_options', `\`output\` cannot be taken: ${why}.`);
  return { answer: { output: json, isError }, sessionId };
}

const sessionIdSchema = z.string({ error: 'a session id' }).nullable().default(null);
const answerSchema = lazily(() => z.strictObject({ isError: flag.default(false), sessionId: sessionIdSchema }));
const decisionSchema = lazily(() =>
  z.strictObject(
    { approved: flag, reason: text.nullable().default(null), sessionId: sessionIdSchema },
    { error: '{ approved: boolean, reason?: string, sessionId?: string }' },
  ),
);

/** Decides a call of a session or its sub-agents. Returns false if none waits for it, or several do and none is named. */
export function approveOne(root: SubSession, callId: string, decision: ApprovalInput): boolean {
  const { approved, reason, sessionId } = approvalDecision(decision);
  return theOne(root, { callId, sessionId, awaits: 'approval' })?.decide(callId, approved, reason) === true;
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
