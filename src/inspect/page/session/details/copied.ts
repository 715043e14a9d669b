import type { AssistantMessage, FilePart, Message, TextPart, ToolOutput } from '../../../../../machines/index.ts';
import type { ShownRecording } from '../../../recorded/shown-recording.ts';
import type { Exchange } from '../../../study/exchange.ts';

/**
 * Returns a request as a command of curl for an OpenAI-compatible endpoint, which asks the same model the same thing:
 * `BASE_URL` says where, `API_KEY` is its key. What was left out of the request (T-6) is left out here. Settings of the
 * agent, such as a temperature, are in no journal, so they are not in the command. Null for a request that was not recorded.
 */
export function curlOf(recorded: ShownRecording, { request, messages, target }: Exchange): string | null {
  if (request === null) return null;
  const sent = messages.filter(({ change }) => change !== 'gone').flatMap(({ message }) => spoken(message));
  const tools = (recorded.tools[request.tools] ?? []).flatMap((tool) =>
    tool.type === 'function'
      ? [
          {
            type: 'function',
            function: { name: tool.name, description: tool.description, parameters: tool.inputSchema },
          },
        ]
      : [],
  );
  const omitted = new Set(request.omitted);
  const body = {
    model: target.slice(target.indexOf(':') + 1),
    messages: [
      ...(request.instructions === null ? [] : [{ role: 'system', content: request.instructions }]),
      ...sent.map((one) => (omitted.has(one.tool_call_id ?? '') ? { ...one, content: 'left out' } : one)),
      ...(request.notice === null ? [] : [{ role: 'user', content: request.notice }]),
    ],
    ...(tools.length > 0 && { tools }),
  };
  // Each line of JSON begins with a brace, a quote or a space, so none ends the body early.
  return `curl -sS "\${BASE_URL:-https://api.openai.com/v1}/chat/completions" \\
  -H "Authorization: Bearer $API_KEY" \\
  -H 'Content-Type: application/json' \\
  --data-binary @- <<'BODY'
${JSON.stringify(body, null, 2)}
BODY
`;
}

/** The command that writes a test of a session. */
export function testCommandOf({ sessionId, agent }: { sessionId: string; agent: string }): string {
  return `pawl test ${shellWord(sessionId)} --agent agent.ts -o ${shellWord(`${agent.replaceAll(/[^\w-]/g, '-')}.test.ts`)}`;
}

function shellWord(text: string): string {
  return /^[\w.:-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

type ChatMessage = { role: string; content: unknown; tool_calls?: unknown[]; tool_call_id?: string };

/** A message of the conversation, as one or more messages of a chat completion. */
function spoken(message: Message): ChatMessage[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: partsOf(message.content) }];
    case 'assistant':
      return [said(message)];
    default:
      return message.content.map(({ toolCallId, output }) => ({
        role: 'tool',
        tool_call_id: toolCallId,
        content: answerOf(output),
      }));
  }
}

function said({ content }: AssistantMessage): ChatMessage {
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  const calls = content.flatMap((part) =>
    part.type === 'tool-call' && part.providerExecuted !== true
      ? [
          {
            id: part.toolCallId,
            type: 'function',
            function: { name: part.toolName, arguments: JSON.stringify(part.input) },
          },
        ]
      : [],
  );
  return { role: 'assistant', content: text === '' ? null : text, ...(calls.length > 0 && { tool_calls: calls }) };
}

/** One text is the content itself. */
function partsOf(parts: readonly (TextPart | FilePart)[]): unknown {
  const [only] = parts;
  if (parts.length === 1 && only?.type === 'text') return only.text;
  return parts.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    const { mediaType, data, filename = 'file' } = part;
    if (data.type === 'text') return { type: 'text', text: data.text };
    const url = data.type === 'url' ? data.url : `data:${mediaType};base64,${data.data}`;
    return mediaType.startsWith('image/')
      ? { type: 'image_url', image_url: { url } }
      : { type: 'file', file: { filename, file_data: url } };
  });
}

function answerOf(output: ToolOutput): unknown {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'content':
      return partsOf(output.value);
    case 'execution-denied':
      return output.reason ?? 'denied';
    default:
      return JSON.stringify(output.value);
  }
}
