import type { Agent } from './definition.ts';

/** The models of an agent and its sub-agents that have no price: they would spend nothing of a budget in US dollars (B-6). */
export function unpricedIn({ name, targets, pricing, agents, compaction }: Agent): { agent: string; model: string }[] {
  const all = [...targets, ...(compaction?.target == null ? [] : [compaction.target])];
  const own = all.flatMap((target) => (pricing[target.name] === undefined ? { agent: name, model: target.name } : []));
  return [...own, ...Object.values(agents).flatMap(unpricedIn)];
}
