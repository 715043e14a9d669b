import { initialSize, mostTokens, roomOf } from '../contract/context.ts';
import type { CompactRequest, Delivered, SummaryRequest } from '../contract/effects.ts';
import { requestsLeft, type Spent, spentTogether } from '../contract/limits.ts';
import { turnsRemain } from './session.rules.ts';
import type { Measures, SessionContext } from './session.types.ts';

/** The share of the room that a conversation grows by before it is worth another break of the cached prefix. */
const leastGrowth = 0.1;

/**
 * Returns true if the conversation is compacted before the next turn (T-9): someone asked for it, or the next request
 * fills its share of the room, and has grown since the last compaction. A summary must leave a request for the turn.
 */
export function compactionIsDue(context: SessionContext): boolean {
  const { compactsAt, compactRequested, compactedTokens, size, window, targets, current, budget, spent, at } = context;
  if (compactsAt === null || !turnsRemain(context) || requestsLeft(budget, spent, at) !== 'many') return false;
  if (compactRequested) return true;
  const room = roomOf({ ...window, windowTokens: targets[current]?.windowTokens ?? null });
  const tokens = mostTokens(size);
  return tokens > room * compactsAt && tokens > compactedTokens + room * leastGrowth;
}

export function compactRequest({ turn, current, targets }: SessionContext): CompactRequest {
  return { turn: turn + 1, target: current, windowTokens: targets[current]?.windowTokens ?? null };
}

/** Returns the changes after a compaction. One that failed is not tried again until the conversation has grown. */
export function afterCompaction(
  context: SessionContext,
  { delivered: { at, outcome } }: { delivered: Delivered<'compact'> },
): Measures {
  const { size: before } = context;
  const { asked } = outcome;
  const turn = context.turn + 1;
  const change = {
    at,
    compactRequested: false,
    ...(asked !== null && { spent: spentTogether(context.spent, spentOn(asked)), summarised: turn }),
  };
  if (!outcome.ok) {
    const { detail } = outcome;
    return {
      change: { ...change, compactedTokens: mostTokens(before) },
      facts: [{ type: 'compaction.failed', turn, detail, asked }],
    };
  }
  const { ranges, message, tokens, results, oldText } = outcome;
  const unread = new Set(before.fresh.results.map(({ callId }) => callId));
  const whole = initialSize(
    tokens,
    results.filter(({ callId }) => !unread.has(callId)),
    oldText,
  );
  const fresh = { results: results.filter(({ callId }) => unread.has(callId)), counted: false };
  const size = { ...whole, fresh, steering: before.steering };
  return {
    change: { ...change, size, compactedTokens: mostTokens(size) },
    facts: [{ type: 'conversation.compacted', turn, ranges, message, asked }],
  };
}

function spentOn({ usage, guessedTokens, costUsd }: SummaryRequest): Spent {
  return { requests: 1, tokens: usage.input + usage.output + guessedTokens, costUsd: costUsd ?? 0 };
}
