import {
  type CompactOutcome,
  type CompactRequest,
  estimateTokens,
  type Message,
  roomOf,
  type SummaryRequest,
} from '../../../machines/index.ts';
import type { Compaction } from '../../agent/compaction.ts';
import { inTime } from '../../host/deadline.ts';
import { messageOf } from '../../input/errors.ts';
import { compactable, compacted } from '../../observe/compaction.ts';
import { ownCopy } from '../../platform/own-copy.ts';
import { counted } from '../../platform/text.ts';
import { redact } from '../../secrets/redact.ts';
import { type CompactParts, type Made, summaryOf } from './summary.ts';

/** Runs the compact effect (T-9). Whatever fails leaves the conversation as it was. */
export async function compact(
  parts: CompactParts,
  request: CompactRequest,
  signal: AbortSignal,
): Promise<CompactOutcome> {
  const { agent, conversation, meter, window } = parts;
  const { compaction } = agent;
  const not = (detail: string, asked: SummaryRequest | null = null) => {
    return { ok: false as const, detail: redact(detail, parts.secrets), asked };
  };
  if (compaction === null) return not('The agent has no `compact` any more.');
  const ranges = compactable(conversation, compaction.keep);
  const replaced = ranges.flatMap(([from, to]) => conversation.messages.slice(from, to));
  if (replaced.length < 2) return not('No exchange before the last turns is left to compact.');
  const made = await textFor(parts, compaction, replaced, request, signal);
  const { asked } = made;
  if ('detail' in made) return not(made.detail, asked);
  const message = `${headingOf(replaced.length, made.text !== '', parts.isReadable)}${made.text}`;
  const tokens = estimateTokens(message);
  const most = Math.floor(roomOf({ ...window, windowTokens: request.windowTokens }) / 4);
  if (tokens > most) return not(`The text has ${tokens} tokens; it may have ${most}.`, asked);
  const { ownInstructions, instructions } = conversation;
  const source = { ...compacted(conversation, ranges, message), instructions, ownInstructions, revision: 0 };
  const size = meter.of(source).first(instructions);
  const now = meter.estimate({ omit: [], omitText: 0 });
  if (size.tokens >= now) return not('The text is no shorter than what it would take the place of.', asked);
  return { ok: true, ranges, message, asked, ...size };
}

function headingOf(count: number, isTold: boolean, isReadable: boolean): string {
  const became = isTold ? 'replaced by what follows' : 'left out';
  const how = isReadable ? ' Read them in pages with read_history.' : '';
  const was = count === 1 ? 'was' : 'were';
  return `[${counted(count, 'earlier message')} ${was} ${became}.${how}]${isTold ? '\n\n' : ''}`;
}

async function textFor(
  parts: CompactParts,
  compaction: Compaction,
  replaced: readonly Message[],
  request: CompactRequest,
  signal: AbortSignal,
): Promise<Made> {
  const { by } = compaction;
  if (by === 'drop') return { text: '', asked: null };
  if (by === 'summary') return summaryOf(parts, compaction, replaced, request, signal);
  const { agent, conversation, contextFor, clock } = parts;
  const timeoutMs = agent.limits.prepareTimeoutMs;
  const late = `it did not return within ${timeoutMs} ms`;
  const context = contextFor(conversation.speaker);
  try {
    const text: unknown = await inTime({ clock, timeoutMs, signal }, late, (own) =>
      by({ messages: ownCopy(replaced), context, signal: own }),
    );
    if (typeof text === 'string' && text.trim() !== '') return { text: text.toWellFormed(), asked: null };
    return { detail: 'compact.by() must return a text that is not blank.', asked: null };
  } catch (error) {
    return { detail: `compact.by() failed: ${messageOf(error)}`, asked: null };
  }
}
