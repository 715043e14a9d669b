import type { Agent } from '../agent/definition.ts';

/** The engine's own default, in ms. */
const leastMs = 600_000;

/**
 * How long the engine lets a step go on before it begins it again, in ms: as long as any effect of these agents may take.
 * Pawl itself cuts off what hangs.
 */
export function stepLimitMs(agents: readonly Agent[]): number {
  return Math.max(leastMs, ...agents.map(longestEffectMs));
}

function longestEffectMs({ limits, tools, agents }: Agent): number {
  return Math.max(
    limits.modelTimeoutMs,
    limits.toolTimeoutMs,
    limits.prepareTimeoutMs,
    ...[...tools.values()].map(({ timeoutMs }) => timeoutMs ?? 0),
    ...Object.values(agents).map(longestEffectMs),
  );
}
