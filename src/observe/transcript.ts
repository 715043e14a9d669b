import { type AssistantPart, type Message, outputText, type ToolResultPart } from '../../machines/index.ts';
import { byteLength } from '../platform/bytes.ts';
import { headOf, tailOf } from '../platform/text.ts';

/** The fewest bytes of a message that are worth showing. */
const leastBytes = 200;

/**
 * Returns messages as text, in at most `mostBytes`: each under its number and role, long ones by their head and tail. If
 * even that is too much, the oldest are left out. Reasoning is.
 */
export function transcriptOf(messages: readonly Message[], mostBytes = Number.POSITIVE_INFINITY): string {
  const texts = messages.map((message, index) => `[${index + 1}] ${message.role}\n${textOf(message)}`);
  const most = Math.max(1, Math.floor(mostBytes / (leastBytes + 2)));
  const shown = texts.slice(-most);
  const room = mostBytes - 2 * shown.length - 64;
  const share = shareOf(
    shown.map((text) => byteLength(text)),
    room,
  );
  const cut = shown.map((text) => cutTo(text, share));
  const left = texts.length - shown.length;
  return [...(left > 0 ? [`[${left} older messages are left out]`] : []), ...cut].join('\n\n');
}

function textOf({ content }: Message): string {
  return content.flatMap((part) => partText(part) ?? []).join('\n');
}

function partText(part: AssistantPart | ToolResultPart): string | null {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'tool-call':
      return `calls ${part.toolName} (${part.toolCallId}): ${JSON.stringify(part.input)}`;
    case 'tool-result':
      return `result of ${part.toolName} (${part.toolCallId}): ${outputText(part.output)}`;
    case 'file':
    case 'reasoning-file':
      return `file of type ${part.mediaType}`;
    default:
      return null;
  }
}

/** Returns the most bytes that each text may have, so that all have at most `room`. */
function shareOf(sizes: readonly number[], room: number): number {
  let left = room;
  for (const [index, size] of [...sizes].sort((one, other) => one - other).entries()) {
    const share = Math.floor(left / (sizes.length - index));
    if (size > share) return Math.max(0, share);
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

function cutTo(text: string, mostBytes: number): string {
  const bytes = byteLength(text);
  if (bytes <= mostBytes) return text;
  const mark = ` [… ${bytes} bytes in all …] `;
  const half = Math.max(0, Math.floor((mostBytes - byteLength(mark)) / 2));
  return `${headOf(text, half)}${mark}${tailOf(text, half)}`;
}
