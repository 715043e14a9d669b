import type { Fact } from '../../../machines/index.ts';
import { counted } from '../../platform/text.ts';
import { pieceName } from '../../vocabulary/refused-pieces.ts';
import type { Fold } from '../events.ts';
import type { Logger } from './logger.ts';
import { type LogContext, lineFields, writeLine } from './session-log.ts';

/** A DEBUG line for each session step except failures and tool calls: turns, collapses, waits, the end. */
export class DebugLog implements Fold {
  private readonly options: LogContext & { logger: Logger; onFailure: (observer: string, error: unknown) => void };

  constructor(options: DebugLog['options']) {
    this.options = options;
  }

  fact(fact: Fact): void {
    const line = lineOf(fact);
    if (line !== null) writeLine(this.options, 'debug', [{ event: fact.type, ...lineFields(this.options) }, line]);
  }
}

function lineOf(fact: Fact): string | null {
  switch (fact.type) {
    case 'turn.started':
      return `turn ${fact.turn} started${fact.isLastTurn ? ', the last one' : ''}`;
    case 'session.collapsed':
      return `collapsed from ${fact.from} turns to ${fact.to}: ${fact.reason}`;
    case 'wait.started':
      return `waiting for ${fact.target} until ${new Date(fact.dueAt).toISOString()}`;
    case 'results.omitted':
      return `left out ${counted(fact.callIds.length, 'result')} and ${fact.textTokens} tokens of old text, which do not fit the context window`;
    case 'piece.replaced':
      return `left out ${pieceName(fact.piece)}, which ${fact.target} refused: ${fact.detail}`;
    case 'target.excluded':
      return `dropped ${fact.target}: ${fact.slug}`;
    case 'session.succeeded':
      return `succeeded after turn ${fact.turns}`;
    default:
      return null;
  }
}
