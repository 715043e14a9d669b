import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import type { AssistantPart, FilePart, Message, ToolResultPart } from '../../../machines/index.ts';

/** Converts a message to the SDK's shape: URL strings become URL objects, and `provider` is dropped. */
export function promptMessage(message: Message): LanguageModelV4Message {
  switch (message.role) {
    case 'user':
      return { ...message, content: message.content.map((part) => (part.type === 'file' ? promptFile(part) : part)) };
    case 'assistant': {
      const { provider: _, open: __, ...rest } = message;
      return { ...rest, content: message.content.map(promptPart) };
    }
    case 'tool':
      return { ...message, content: message.content.map(promptResult) };
    default:
      return message satisfies never;
  }
}

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

function promptPart(part: AssistantPart): AssistantContent {
  switch (part.type) {
    case 'file':
      return promptFile(part);
    case 'reasoning-file': {
      const { data } = part;
      if (data.type === 'text') return { type: 'text', text: data.text };
      return { ...part, data: data.type === 'url' ? { type: 'url', url: new URL(data.url) } : data };
    }
    case 'tool-result':
      return promptResult(part);
    case 'tool-call': {
      const { isText, ...call } = part;
      return isText === true ? { ...call, input: part.input.text ?? '' } : call;
    }
    default:
      return part;
  }
}

function promptResult(part: ToolResultPart): LanguageModelV4ToolResultPart {
  const { output } = part;
  if (output.type !== 'content') return { ...part, output };
  const value = output.value.map((piece) => (piece.type === 'file' ? promptFile(piece) : piece));
  return { ...part, output: { type: 'content', value } };
}

function promptFile(part: FilePart): LanguageModelV4FilePart {
  const { data } = part;
  return { ...part, data: data.type === 'url' ? { type: 'url', url: new URL(data.url) } : data };
}
