import type { SessionResult } from '../session/options.ts';

export const exitCodes = { succeeded: 0, failed: 1, usage: 2, aborted: 130 } as const;

/** A command-line error, reported as one sentence with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function exitCodeOf({ status }: Pick<SessionResult, 'status'>): number {
  return exitCodes[status];
}
