import type { ItemRef, Phase, WorkOutcome, WorkPhase } from '../contract/work.ts';

export type ItemInput = {
  run: string;
  item: ItemRef;
  /** Position in the run, from 1. */
  iteration: number;
  /** Whether a test agent exists. */
  tests: boolean;
  /** Maximum tries to invoke an unavailable agent. */
  maxTries: number;
};

/** The outcome of an agent's work, with its time (epoch ms) and the chance for the next wait. */
export type Work = { outcome: WorkOutcome; chance: number; at: number };

export type ItemContext = ItemInput & {
  /** Whether the current agent works on the item, or tests the result. */
  phase: WorkPhase;
  /** Tries to invoke the current agent, and the errors of those that failed. */
  tries: number;
  tryErrors: string[];
  /** The latest work; `noWork` before that. */
  work: Work;
  /** The files that the work changed. */
  changed: string[];
  isAborted: boolean;
};

/** How the work on an item ended, in its last phase. */
export type ItemOutput = {
  iteration: number;
  phase: WorkPhase;
  outcome: WorkOutcome;
  tries: number;
  tryErrors: string[];
  /** The files that the work changed, in both phases. */
  changed: string[];
};

/** Facts of the item machine, and of the run's own phases and agents, for which `item` is null. */
export type ItemFact =
  | { type: 'phase.started'; phase: Phase; item: string | null }
  | { type: 'agent.unavailable'; item: string | null; agent: string; tries: number; message: string }
  | { type: 'wait.started'; item: string | null; agent: string; dueAt: number }
  /** The item is settled when those before it have been. */
  | { type: 'work.ended'; item: string; verdict: WorkOutcome['verdict'] };
