import type { EventObject } from 'xstate';
import type { PrepareOutcome, TurnStop } from '../../../machines/contract/effects.ts';

/** The classes of outcomes that each level returns to the level above, with examples of each. */

export const stop: EventObject = { type: 'session.stop' };

/** The stops passed down the levels: a requested stop and the deadline. */
export const stops: TurnStop[] = [
  { type: 'turn.stop', slug: 'stopped', at: null },
  { type: 'turn.stop', slug: 'budget_exhausted', at: 60_000 },
];

export const abort = { type: 'session.abort', reason: 'no' };

export const delivered = (outcome: unknown) => ({ at: 1_000, chance: 0.5, outcome });

export const done = (actor: string, output: unknown) => ({
  type: `xstate.done.actor.${actor}`,
  output,
  actorId: actor,
});

/** A session prepared without instructions, messages or tools of its own, and a first request of so many tokens. */
export const preparation = (tokens: number): PrepareOutcome => ({
  ok: true,
  instructions: null,
  messages: null,
  tokens,
  results: [],
  oldText: 0,
  unavailable: [],
});

export const broke = (actor: string) => ({ type: `xstate.error.actor.${actor}`, error: 'bug', actorId: actor });
