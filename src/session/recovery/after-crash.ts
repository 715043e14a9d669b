import {
  type Effect,
  type Fault,
  failedOutcome,
  type ModelOutcome,
  noUsage,
  type ToolOutcome,
} from '../../../machines/index.ts';
import type { EffectPolicy } from '../../host/journaled.ts';
import type { Catalog } from '../../tools/catalog.ts';

/**
 * How a session's effects go on after its process died or suspended it (D-4). `hasSubAgents`: whether some still
 * run, which the end of the session waits for and a suspension does not.
 */
export function effectPolicy(catalog: Catalog, hasSubAgents: () => boolean): EffectPolicy {
  return {
    interrupted: (effect) => interruptedOutcome(catalog, effect),
    isAwaited: (effect) => {
      if (effect.kind === 'tool') {
        const tool = catalog.get(effect.request.name);
        return tool?.afterCrash !== 'continue' && tool?.isClientSide !== true;
      }
      if (effect.kind === 'close') return !hasSubAgents();
      return effect.kind !== 'wait' && effect.kind !== 'approval';
    },
  };
}

/** The outcome of an effect that had begun; null if it is performed again. */
export function interruptedOutcome(catalog: Catalog, effect: Effect): ModelOutcome | ToolOutcome | null {
  if (effect.kind === 'model') return interruptedRequest;
  // What only reads, opens, closes or waits is performed again.
  if (effect.kind !== 'tool' || isRepeated(catalog, effect.request.name)) return null;
  return interruptedCall;
}

function isRepeated(catalog: Catalog, name: string): boolean {
  return (catalog.get(name)?.afterCrash ?? 'answer') !== 'answer';
}

const fault: Fault = {
  kind: 'interrupted',
  message: 'The process ended while the request was in flight.',
  status: null,
  retryAfterMs: null,
};

/** The outcome of a request that was in flight. */
export const interruptedRequest: ModelOutcome = {
  reply: null,
  fault,
  calls: [],
  textReport: null,
  usage: noUsage,
  costUsd: 0,
  measured: null,
};

const interruptedCall: ToolOutcome = failedOutcome(
  'interrupted',
  'interrupted, outcome unknown: the process ended while the tool ran, and it was not run again.',
);
