import { expected, PawlError } from '../errors.ts';
import type { ApprovalInput } from './options.ts';

/** Checks the `steer` text. */
export function steeringText(text: unknown): string {
  if (typeof text === 'string' && text.trim() !== '') return text;
  throw new PawlError('invalid_options', expected('text', text, 'a string that is not blank'));
}

/** Checks the `approve` decision. */
export function approvalDecision(decision: ApprovalInput): {
  approved: boolean;
  reason: string | null;
  sessionId: string | null;
} {
  const { approved, reason = null, sessionId = null } = decision ?? {};
  if (typeof approved === 'boolean' && (reason === null || typeof reason === 'string')) {
    return { approved, reason, sessionId };
  }
  const shape = '{ approved: boolean, reason?: string, sessionId?: string }';
  throw new PawlError('invalid_options', expected('decision', decision, shape));
}
