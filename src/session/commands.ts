import type { SessionSteer } from '../../machines/index.ts';
import { expected, PawlError } from '../errors.ts';
import type { ApprovalInput, SuspendOptions } from './options.ts';
import type { SubSession } from './sub-agents/sub-session.ts';

/** Checks the `steer` text. */
export function steering(text: unknown): SessionSteer {
  if (typeof text === 'string' && text.trim() !== '') return { type: 'session.steer', text };
  throw new PawlError('invalid_options', expected('text', text, 'a string that is not blank'));
}

/** Checks a position in the event stream. */
export function position(seq: unknown): number {
  if (typeof seq === 'number' && Number.isInteger(seq) && seq >= 1) return seq;
  throw new PawlError('invalid_options', expected('seq', seq, 'an integer of at least 1'));
}

const defaultGraceMs = 10_000;

/** Checks the options of `suspend`. Returns how long it waits, in ms. */
export function graceOf({ graceMs = defaultGraceMs }: SuspendOptions): number {
  if (typeof graceMs === 'number' && graceMs >= 0) return graceMs;
  throw new PawlError('invalid_options', expected('graceMs', graceMs, 'a number of at least 0'));
}

type Decision = { approved: boolean; reason: string | null; sessionId: string | null };

/** Checks the `approve` decision. */
export function approvalDecision(decision: ApprovalInput): Decision {
  const { approved, reason = null, sessionId = null } = decision ?? {};
  if (typeof approved === 'boolean' && (reason === null || typeof reason === 'string')) {
    return { approved, reason, sessionId };
  }
  const shape = '{ approved: boolean, reason?: string, sessionId?: string }';
  throw new PawlError('invalid_options', expected('decision', decision, shape));
}

/** Decides the call in the one session that waits for it; false if none does, or several do. */
export function decideOne(
  waiting: readonly SubSession[],
  callId: string,
  { approved, reason, sessionId }: Decision,
): boolean {
  const meant = waiting.filter((one) => sessionId === null || one.sessionId === sessionId);
  return meant.length === 1 && meant[0]?.decide(callId, approved, reason) === true;
}
