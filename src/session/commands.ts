import { z } from 'zod';
import type { Json, SessionSteer } from '../../machines/index.ts';
import { check } from '../input/check.ts';
import { PawlError, reasonOf, unexpected } from '../input/errors.ts';
import { flag, text } from '../input/shapes.ts';
import { lazily } from '../platform/lazily.ts';
import { depthProblem } from '../platform/plain-json.ts';
import type { AnswerOptions, ApprovalInput, SuspendOptions } from './session.ts';
import type { ClientAnswer, GivenDecision } from './sub-agents/sub-session.ts';
import { isSteerable } from './wiring/driving.ts';
import type { Wired } from './wiring/wiring.ts';

/** Returns a value as JSON of its own. */
function jsonOf(value: unknown, name: string): Json {
  try {
    return JSON.parse(JSON.stringify(value ?? null));
  } catch (error) {
    throw new PawlError('invalid_options', `\`${name}\` must be JSON: ${reasonOf(error)}.`, { cause: error });
  }
}

/** Checks the `steer` text. */
export function steering(text: unknown): SessionSteer {
  if (typeof text === 'string' && text.trim() !== '') return { type: 'session.steer', text };
  throw unexpected('invalid_options', 'text', text, 'a string that is not blank');
}

/** Steers a session, unless it is over or no request could carry the text. Returns whether it did. */
export function steerOne(wired: Wired<unknown>, isOver: boolean, text: unknown): boolean {
  const command = steering(text);
  const isTaken = !isOver && isSteerable(wired);
  if (isTaken) wired.machine.command(command);
  return isTaken;
}

/** Asks for a compaction, unless the session is over. Throws for an agent whose sessions are never compacted (T-9). */
export function compactOne(
  { identity, machine }: Pick<Wired<unknown>, 'identity' | 'machine'>,
  isOver: boolean,
): boolean {
  if (identity.agent.compaction === null)
    throw new PawlError('invalid_options', 'The agent has no `compact`, so its sessions cannot be compacted.');
  if (!isOver) machine.command({ type: 'session.compact' });
  return !isOver;
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

/** Checks the `approve` decision. */
export function approvalDecision(decision: ApprovalInput): GivenDecision & { sessionId: string | null } {
  const { input, ...rest } = check(decisionSchema(), decision, 'decision', 'invalid_options');
  return { ...rest, input: input === undefined ? null : jsonOf(input, 'input') };
}

/** Checks the answer to a call of a client-side tool. */
export function checkedAnswer(
  output: unknown,
  options: AnswerOptions,
): { answer: ClientAnswer; sessionId: string | null } {
  const { isError, sessionId } = check(answerSchema(), options, 'options', 'invalid_options');
  const json = jsonOf(output, 'output');
  const why = depthProblem(json);
  if (why !== null) throw new PawlError('invalid_options', `\`output\` cannot be taken: ${why}.`);
  return { answer: { output: json, isError }, sessionId };
}

const sessionIdSchema = z.string({ error: 'a session id' }).nullable().default(null);
const answerSchema = lazily(() => z.strictObject({ isError: flag.default(false), sessionId: sessionIdSchema }));
const decisionSchema = lazily(() =>
  z.strictObject(
    {
      approved: flag,
      reason: text.nullable().default(null),
      input: z.unknown().optional(),
      sessionId: sessionIdSchema,
    },
    { error: '{ approved: boolean, reason?: string, input?: unknown, sessionId?: string }' },
  ),
);
