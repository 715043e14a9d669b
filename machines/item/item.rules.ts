import { backoffMs } from '../contract/backoff.ts';
import { workKey, workWaitKey } from '../contract/keys.ts';
import type { LeafInput } from '../contract/leaf.ts';
import { noOutcome, type WorkOutcome } from '../contract/work.ts';
import type { ItemContext, ItemFact, ItemInput, ItemOutput, Work } from './item.types.ts';

/** Placeholder before any work. */
const noWork: Work = { outcome: noOutcome, at: 0, chance: 0 };

export function freshItem(input: ItemInput): ItemContext {
  return { ...input, phase: 'processing', tries: 0, tryErrors: [], work: noWork, changed: [], isAborted: false };
}

/** Begins a try. The outcome of an earlier one no longer counts. */
export function tryBegun({ tries }: ItemContext): Partial<ItemContext> {
  return { tries: tries + 1, work: noWork };
}

export function testingBegun(): Partial<ItemContext> {
  return { phase: 'testing', tries: 0, tryErrors: [] };
}

export function afterWork({ changed: before, tryErrors }: ItemContext, work: Work): Partial<ItemContext> {
  const { verdict, message, changed } = work.outcome;
  return {
    work,
    changed: [...new Set([...before, ...changed])],
    tryErrors: verdict === 'unavailable' ? [...tryErrors, message] : tryErrors,
  };
}

/** Records a defect in the work as a critical error (W-1). */
export function brokenWork({ phase, work }: ItemContext, error: unknown): Partial<ItemContext> {
  const outcome: WorkOutcome = { ...noOutcome, verdict: 'critical', agent: phase, message: String(error) };
  return { work: { ...work, outcome } };
}

/** Builds the request to invoke an agent; `tries` makes the key unique. */
export function workInput({ run, item, iteration, phase, tries }: ItemContext): LeafInput<'work'> {
  return { key: workKey(iteration, phase, tries), request: { run, item, phase } };
}

/** Builds the request to wait before the next try. */
export function waitInput(context: ItemContext): LeafInput<'wait'> {
  const { iteration, phase, tries } = context;
  return { key: workWaitKey(iteration, phase, tries), request: { dueAt: nextTryAt(context), kind: 'backoff' } };
}

/** Returns the time of the next try (epoch ms), with full jitter as for a provider (P-3). */
function nextTryAt({ work, tries }: ItemContext): number {
  return work.at + backoffMs(tries, work.chance);
}

/** Returns true if an agent's work needs testing and a test agent exists. */
export function isToBeTested({ phase, tests, work }: ItemContext): boolean {
  return work.outcome.verdict === 'succeeded' && tests && phase === 'processing';
}

/** Returns true if an unavailable agent may be tried again (W-1). */
export function triesRemain({ work, tries, maxTries, isAborted }: ItemContext): boolean {
  return work.outcome.verdict === 'unavailable' && tries < maxTries && !isAborted;
}

export function triesAreSpent({ work, tries, maxTries, isAborted }: ItemContext): boolean {
  return work.outcome.verdict === 'unavailable' && tries >= maxTries && !isAborted;
}

export function unavailableFact({ item, work, tries }: ItemContext): ItemFact {
  const { agent, message } = work.outcome;
  return { type: 'agent.unavailable', item: item.id, agent, tries, message };
}

export function waitFact(context: ItemContext): ItemFact {
  return { type: 'wait.started', item: context.item.id, agent: context.work.outcome.agent, dueAt: nextTryAt(context) };
}

export function endFact(context: ItemContext): ItemFact {
  return { type: 'work.ended', item: context.item.id, verdict: outputOf(context).outcome.verdict };
}

/** An agent that was unavailable when the run was aborted is not tried again. */
export function outputOf({ iteration, phase, work, tries, tryErrors, changed, isAborted }: ItemContext): ItemOutput {
  const { outcome } = work;
  const verdict = isAborted && outcome.verdict === 'unavailable' ? 'aborted' : outcome.verdict;
  return { iteration, phase, outcome: { ...outcome, verdict }, tries, tryErrors, changed };
}
