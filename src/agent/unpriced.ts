import { PawlError } from '../input/errors.ts';
import type { Agent } from './definition.ts';

/** The models of an agent and its sub-agents that have no price: they would spend nothing of a budget in US dollars (B-6). */
export function unpricedIn({ name, targets, pricing, agents, compaction }: Agent): { agent: string; model: string }[] {
  const all = [...targets, ...(compaction?.target == null ? [] : [compaction.target])];
  const own = all.flatMap((target) => (pricing[target.name] === undefined ? { agent: name, model: target.name } : []));
  return [...own, ...Object.values(agents).flatMap(unpricedIn)];
}

/** Throws `invalid_budget` if a budget limits US dollars, and a model has no price. */
export function checkPriced(agent: Agent, budget: string, costUsd: number | null): void {
  const [unpriced] = costUsd === null ? [] : unpricedIn(agent);
  if (unpriced === undefined) return;
  const message = `\`${budget}.costUsd\` needs a price for every model of the agent and its sub-agents; the \`pricing\` of "${unpriced.agent}" has none for "${unpriced.model}".`;
  throw new PawlError('invalid_budget', message);
}
