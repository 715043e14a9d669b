import type { Fact } from '../../../machines/index.ts';
import { counted } from '../../platform/text.ts';
import { pieceName } from '../../vocabulary/refused-pieces.ts';

/** The DEBUG line of a session's step; null for failures and tool calls, which have lines of their own, and for the rest. */
export function debugLine(fact: Fact): string | null {
  switch (fact.type) {
    case 'turn.started':
      return `turn ${fact.turn} started${fact.isLastTurn ? ', the last one' : ''}`;
    case 'session.collapsed':
      return `collapsed from ${fact.from} turns to ${fact.to}: ${fact.reason}`;
    case 'wait.started':
      return `waiting for ${fact.target} until ${new Date(fact.dueAt).toISOString()}`;
    case 'admission.requested':
      return `asking whether attempt ${fact.attempt} of turn ${fact.turn} may begin on ${fact.target}`;
    case 'results.omitted':
      return `left out ${counted(fact.callIds.length, 'result')} and ${fact.textTokens} tokens of old text, which do not fit the context window`;
    case 'conversation.compacted':
      return `compacted the conversation before turn ${fact.turn}: ${counted(replacedBy(fact), 'message')} in one`;
    case 'compaction.failed':
      return `did not compact the conversation before turn ${fact.turn}: ${fact.detail}`;
    case 'piece.replaced':
      return `left out ${pieceName(fact.piece)}, which ${fact.target} refused: ${fact.detail}`;
    case 'target.excluded':
      return `dropped ${fact.target}: ${fact.slug}`;
    default:
      return null;
  }
}

/** How many messages a compaction took the place of. */
export function replacedBy({ ranges }: Extract<Fact, { type: 'conversation.compacted' }>): number {
  return ranges.reduce((sum, [from, to]) => sum + to - from, 0);
}
