import type { Agent } from '../agent/definition.ts';

/** The engine's own default, in ms. */
const leastMs = 600_000;

/**
 * The engine's limit for one step, in ms; it repeats a step that takes longer. No effect of these agents takes as long,
 * since Pawl cuts each part of it off.
 */
export function stepLimitMs(agents: readonly Agent[]): number {
  return Math.max(leastMs, ...agents.map(longestStepMs));
}

function longestStepMs({ limits, tools, agents }: Agent): number {
  const { prepareTimeoutMs, modelTimeoutMs, toolTimeoutMs, maxToolCallsPerTurn, maxConcurrentTools } = limits;
  const longestToolMs = Math.max(toolTimeoutMs, ...[...tools.values()].map(({ timeoutMs }) => timeoutMs ?? 0));
  // A call waits for a free slot, then its input is checked, then its tool runs.
  const callsMs = Math.ceil(maxToolCallsPerTurn / maxConcurrentTools) * (toolTimeoutMs + longestToolMs);
  // A reply and the messages at the beginning are checked within the limit of a tool.
  const checkedMs = Math.max(modelTimeoutMs, prepareTimeoutMs) + toolTimeoutMs;
  // Another process opens the tools first.
  const ownMs = prepareTimeoutMs + Math.max(callsMs, checkedMs);
  return Math.max(ownMs, ...Object.values(agents).map(longestStepMs));
}
