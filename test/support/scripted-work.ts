import type { WorkResult } from '../../src/workflow/index.ts';

/** BUG-001 succeeds, BUG-002 waits for a person, and what comes later fails. */
export function outcomeOf(id: string): WorkResult {
  if (id === 'BUG-001') return { status: 'succeeded' };
  if (id === 'BUG-002') return { status: 'blocked', message: 'a licence must be bought' };
  return { status: 'failed', message: 'no', slugs: ['tool_exec_failed'] };
}
