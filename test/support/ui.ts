import { isToolUIPart, readUIMessageStream, type UIMessageChunk } from 'ai';
import { historyInput, historyName, type ReplyPart } from '../../machines/index.ts';
import type { CallRecord, InputMessage, Message, SessionResult } from '../../src/index.ts';
import type { PawlUIMessage } from '../../src/ui/index.ts';

/** Reads a stream as the SDK's pages do. */
export async function messageOf(
  stream: ReadableStream<UIMessageChunk>,
  message?: PawlUIMessage,
): Promise<{ message: PawlUIMessage; chunks: UIMessageChunk[]; errors: string[] }> {
  const chunks: UIMessageChunk[] = [];
  const errors: string[] = [];
  const seen = stream.pipeThrough(
    new TransformStream<UIMessageChunk, UIMessageChunk>({
      transform(chunk, controller) {
        chunks.push(chunk);
        controller.enqueue(chunk);
      },
    }),
  );
  let last: PawlUIMessage | null = null;
  const onError = (error: unknown) => void errors.push(String(error));
  const given = message === undefined ? {} : { message };
  for await (const one of readUIMessageStream<PawlUIMessage>({ stream: seen as never, onError, ...given })) last = one;
  if (last === null) throw new Error('no message');
  return { message: last, chunks, errors };
}

/** What a page shows of the conversation: without data, step marks and the calls of sub-agents. */
export function shownParts({ parts }: PawlUIMessage): unknown[] {
  return parts.flatMap((part): unknown[] => {
    if (part.type.startsWith('data-') || part.type === 'step-start') return [];
    if (isToolUIPart(part)) {
      if (part.toolCallId.startsWith('inner:')) return [];
      const name = part.type === 'dynamic-tool' ? part.toolName : part.type.slice('tool-'.length);
      const shown =
        part.state === 'output-available' ? part.output : part.state === 'output-error' ? part.errorText : '';
      return [['tool', name, part.toolCallId, part.input, part.state, shown]];
    }
    if (part.type === 'text' || part.type === 'reasoning') return [[part.type, part.text, part.state]];
    if (part.type === 'source-url') return [[part.type, part.url]];
    if (part.type === 'file') return [[part.type, part.mediaType, part.url]];
    return [[part.type]];
  });
}

/** The same, from a session's result: the parts of the replies of attempts that did not fail. */
export function partsOfResult(result: SessionResult): unknown[] {
  return result.turns.flatMap(({ attempts }) =>
    attempts.flatMap(({ status, reply, calls }) =>
      status === 'failed' || reply === null
        ? []
        : reply.content.flatMap((part) => shownPart(part, calls, reply.content)),
    ),
  );
}

function shownPart(part: ReplyPart, calls: readonly CallRecord[], content: readonly ReplyPart[]): unknown[] {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text === '' && part.providerOptions === undefined ? [] : [[part.type, part.text, 'done']];
    case 'tool-call': {
      const name = historyName(part.name);
      if (part.providerExecuted) {
        const result = content.find((one) => one.type === 'tool-result' && one.callId === part.callId);
        const output = result?.type === 'tool-result' ? result.result : '';
        const state = result === undefined ? 'input-available' : 'output-available';
        return [['tool', name, part.callId, JSON.parse(part.input), state, output]];
      }
      const call = calls.find(({ callId }) => callId === part.callId);
      const state =
        call === undefined
          ? 'input-streaming'
          : call.slug === 'tool_denied'
            ? 'output-denied'
            : call.result.success
              ? 'output-available'
              : 'output-error';
      const shown =
        call === undefined || call.slug === 'tool_denied'
          ? ''
          : call.result.success
            ? (call.result.value ?? call.result.message)
            : call.result.message;
      return [['tool', name, part.callId, historyInput(part), state, shown]];
    }
    case 'source': {
      const source = part.source as { url: string };
      return [['source-url', source.url]];
    }
    case 'file':
      return [
        ['file', part.mediaType, part.data.type === 'data' ? `data:${part.mediaType};base64,${part.data.data}` : ''],
      ];
    case 'tool-result':
      return [];
    default:
      return [[part.type]];
  }
}

/** The outputs of calls, by id. */
export function outputsIn(messages: readonly InputMessage[]): Record<string, unknown> {
  return Object.fromEntries(
    messages.flatMap(({ role, content }) =>
      role !== 'tool'
        ? []
        : content.flatMap((part) => (part.type === 'tool-result' ? [[part.toolCallId, part.output]] : [])),
    ),
  );
}

/** Those of the conversation, for the calls that a page shows. */
export function outputsShown({ parts }: PawlUIMessage, conversation: readonly Message[]): Record<string, unknown> {
  const shown = new Set(parts.flatMap((part) => ('toolCallId' in part ? [part.toolCallId] : [])));
  return Object.fromEntries(Object.entries(outputsIn(conversation)).filter(([id]) => shown.has(id)));
}

/** A stream of these chunks. */
export function streamOf(chunks: readonly UIMessageChunk[]): ReadableStream<UIMessageChunk> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}
