import type { Fact, WorkflowFact } from '../../../machines/index.ts';
import type { Sighting } from '../../observe/events.ts';

/** A fact or a sighting of a session, or a fact of a run. `at` is epoch ms, `entry` the number of the journal's entry, from 1. */
export type Told = { scope: string; at: number; entry: number } & (
  | { fact: Fact }
  | { sighting: Sighting }
  | { runFact: WorkflowFact }
);

export function contentOf(told: Told): Fact | Sighting | WorkflowFact {
  if ('fact' in told) return told.fact;
  return 'sighting' in told ? told.sighting : told.runFact;
}
