import { type AssistantPart, isBlank, type Message, type ToolCallPart } from '../../../machines/index.ts';

/**
 * Removes content from other providers: reasoning, provider-executed calls and metadata such as signatures go back
 * only to the provider that made them (P-5). Returns null if nothing is left.
 */
export function ownedBy(message: Message, provider: string, speaker: string | undefined): Message | null {
  if (message.role === 'user' || speaker === undefined || speaker === provider) return message;
  if (message.role === 'tool')
    return { ...message, content: message.content.map(({ providerOptions: _, ...part }) => part) };
  const foreign = new Set(
    message.content.flatMap((part) => (part.type === 'tool-call' && part.providerExecuted ? [part.toolCallId] : [])),
  );
  const content = message.content.flatMap((part): AssistantPart[] => {
    if (!isPortable(part, foreign)) return [];
    const { providerOptions: _, ...own } = part;
    // Only its own provider knows of a tool that takes a text.
    if (own.type === 'tool-call') return [withoutTextMark(own)];
    return isBlank(own) ? [] : [own];
  });
  if (content.length === 0) return null;
  // Many models take no files of the assistant and drop them: a message of nothing else would be empty.
  const files = content.flatMap((part) => (part.type === 'file' ? part.mediaType : []));
  const named = files.length < content.length ? [] : [{ type: 'text', text: `[${files.join(', ')}]` } as const];
  return { role: 'assistant', provider: speaker, content: [...named, ...content] };
}

function withoutTextMark({ isText: _, ...call }: ToolCallPart): ToolCallPart {
  return call;
}

function isPortable(part: AssistantPart, foreign: ReadonlySet<string>): boolean {
  switch (part.type) {
    case 'reasoning':
    case 'reasoning-file':
    case 'custom':
      return false;
    case 'tool-call':
    case 'tool-result':
      return !foreign.has(part.toolCallId);
    case 'text':
    case 'file':
      return true;
    default:
      return part satisfies never;
  }
}
