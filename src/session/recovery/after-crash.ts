import {
  type CompactOutcome,
  type Effect,
  type EffectKind,
  type Fault,
  failedOutcome,
  type ModelOutcome,
  noUsage,
  type ToolOutcome,
} from '../../../machines/index.ts';
import type { EffectPolicy } from '../../host/journaled.ts';
import type { FollowedCalls } from '../../observe/calls/followed-calls.ts';
import type { Conversation } from '../../observe/conversation.ts';
import type { Catalog } from '../../tools/catalog.ts';
import { interruptedText } from '../../tools/running/reconcile.ts';

/** What the folds know of what had begun. */
type Begun = { followedCalls: Pick<FollowedCalls, 'has'>; conversation: Pick<Conversation, 'summaryFrom'> };

/** Effects that wait for people, times and other sessions. */
const onlyWaits: readonly EffectKind[] = ['wait', 'approval', 'admission'];

/**
 * How a session's effects go on after its process died or suspended it (D-4). `hasSubAgents`: whether some still
 * run, which the end of the session waits for and a suspension does not.
 */
export function effectPolicy(catalog: Catalog, begun: Begun, hasSubAgents: () => boolean): EffectPolicy {
  return {
    interrupted: (effect) => interruptedOutcome(catalog, begun, effect),
    isAwaited: (effect) => {
      if (effect.kind === 'tool') {
        const { name, callId } = effect.request;
        const tool = catalog.get(name);
        return tool?.afterCrash !== 'continue' && tool?.isClientSide !== true && !begun.followedCalls.has(callId);
      }
      if (effect.kind === 'close') return !hasSubAgents();
      return !onlyWaits.includes(effect.kind);
    },
  };
}

/** The outcome of an effect that had begun; null if it is performed again. */
export function interruptedOutcome(
  catalog: Catalog,
  begun: Begun,
  effect: Effect,
): ModelOutcome | ToolOutcome | CompactOutcome | null {
  const { summaryFrom } = begun.conversation;
  if (effect.kind === 'model') return interruptedRequest;
  if (effect.kind === 'compact' && summaryFrom !== null) return interruptedSummary(summaryFrom);
  // What only reads, opens, closes or waits is performed again.
  if (effect.kind !== 'tool' || isRepeated(catalog, effect.request.name)) return null;
  // Its server has it still.
  if (begun.followedCalls.has(effect.request.callId)) return null;
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

/** The outcome of a compaction whose request for a summary was in flight: it counts, and is not sent again (B-6). */
function interruptedSummary(target: string): CompactOutcome {
  const asked = { target, usage: noUsage, guessedTokens: 0, costUsd: 0 };
  return { ok: false, detail: 'The process ended while the summary was in flight.', asked };
}

const interruptedCall: ToolOutcome = failedOutcome('interrupted', interruptedText);
