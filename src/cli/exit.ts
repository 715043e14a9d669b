import type { SessionResult } from '../session.ts';

export const exitCodes = { succeeded: 0, failed: 1, usage: 2, aborted: 130 } as const;

/** A call of the command that cannot be: one sentence, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function exitCodeOf({ status }: Pick<SessionResult, 'status'>): number {
  return exitCodes[status];
}

/** What the commands have in common. */
export type Flags = {
  agent: string | undefined;
  model: string | undefined;
  baseUrl: string | undefined;
  mcp: string | undefined;
  http: number | undefined;
  question: string | undefined;
  rehearsal: boolean;
  once: boolean;
  dryRun: boolean;
  maxTurns: number | undefined;
  maxRetries: number | undefined;
  inspect: boolean;
  json: boolean;
  logLevel: string | undefined;
};
