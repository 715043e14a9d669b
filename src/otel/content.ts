import type { Attributes } from '@opentelemetry/api';
import type { AssistantPart, Message, Reply, ReplyPart, ToolOutput } from '../../machines/index.ts';
import { attributes } from './conventions.ts';

/** Messages, replies and results in the conventions' own JSON, for those who record content. */
type Part = Record<string, unknown>;

export function instructionParts(text: string): string {
  return JSON.stringify([{ type: 'text', content: text }]);
}

export function inputMessagesAttribute(messages: readonly Message[], notice: string | null): string {
  const last = notice === null ? [] : [{ role: 'user', parts: [{ type: 'text', content: notice }] }];
  return JSON.stringify([...messages.map(({ role, content }) => ({ role, parts: content.map(partOf) })), ...last]);
}

export function outputMessages({ content, finishReason }: Reply): string {
  const finish = finishReason?.unified ?? 'error';
  return JSON.stringify([{ role: 'assistant', parts: content.map(partOf), finish_reason: finish }]);
}

export function toolResult(output: ToolOutput): string {
  return JSON.stringify(shownOutput(output));
}

/** What is known of a request once its reply has come; with the reply itself if content is recorded. */
export function replyAttributes(reply: Reply | null, content: boolean): Attributes {
  const finish = reply?.finishReason?.unified;
  return {
    ...(finish !== undefined && { [attributes.finishReasons]: [finish] }),
    ...(reply?.responseId != null && { [attributes.responseId]: reply.responseId }),
    ...(reply?.modelId != null && { [attributes.responseModel]: reply.modelId }),
    ...(content && reply !== null && { [attributes.outputMessages]: outputMessages(reply) }),
  };
}

function shownOutput(output: ToolOutput): unknown {
  if (output.type === 'content') return output.value.map(partOf);
  return 'value' in output ? output.value : (output.reason ?? null);
}

function partOf(part: AssistantPart | Message['content'][number] | ReplyPart): Part {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text };
    case 'tool-call':
      return 'toolCallId' in part
        ? { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: part.input }
        : { type: 'tool_call', id: part.callId, name: part.name, arguments: part.input };
    case 'tool-result':
      return 'toolCallId' in part
        ? {
            type: 'tool_call_response',
            id: part.toolCallId,
            response: shownOutput(part.output),
          }
        : { type: 'tool_call_response', id: part.callId, response: part.result };
    case 'file':
    case 'reasoning-file':
      // Files are named, never recorded.
      return { type: 'file', mime_type: part.mediaType };
    default:
      return { type: part.type };
  }
}
