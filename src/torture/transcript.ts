import type { RequestBody, Wire } from '../testing/model-server.ts';

/** A call that a transcript shows. `result`: null while none is in it. */
export type SeenCall = { name: string; input: unknown; result: string | null };

type OpenCall = SeenCall & { id: string | undefined };
type Reader = (
  body: RequestBody,
  made: (call: OpenCall) => void,
  answered: (id: unknown, result: string) => void,
) => void;

/** How each API writes down calls and their results. */
const readers: Record<Wire, Reader> = {
  openai({ messages }, made, answered) {
    type Call = { id?: string; function?: { name?: string; arguments?: string } };
    for (const { role, content, tool_calls, tool_call_id } of messagesOf(messages)) {
      for (const { id, function: call } of objectsIn<Call>(tool_calls))
        made({ id, name: call?.name ?? '', input: parsed(call?.arguments ?? ''), result: null });
      if (role === 'tool') answered(tool_call_id, textOf(content));
    }
  },
  'openai-responses'({ input }, made, answered) {
    type Item = { type?: string; call_id?: string; name?: string; arguments?: string; output?: unknown };
    for (const item of objectsIn<Item>(input)) {
      if (item.type === 'function_call')
        made({ id: item.call_id, name: item.name ?? '', input: parsed(item.arguments ?? ''), result: null });
      if (item.type === 'function_call_output') answered(item.call_id, textOf(item.output));
    }
  },
  anthropic({ messages }, made, answered) {
    type Block = {
      type?: string;
      id?: string;
      name?: string;
      input?: unknown;
      tool_use_id?: string;
      content?: unknown;
    };
    for (const block of messagesOf(messages).flatMap(({ content }) => objectsIn<Block>(content))) {
      if (block.type === 'tool_use')
        made({ id: block.id, name: block.name ?? '', input: parsed(block.input), result: null });
      if (block.type === 'tool_result') answered(block.tool_use_id, textOf(block.content));
    }
  },
  gemini({ contents }, made, answered) {
    type Named = { id?: string; name?: string; args?: unknown; response?: unknown };
    type Part = { functionCall?: Named; functionResponse?: Named };
    for (const part of objectsIn<{ parts?: unknown }>(contents).flatMap(({ parts }) => objectsIn<Part>(parts))) {
      const { functionCall: call, functionResponse: response } = part;
      // Without ids, the next result of a name is the one of the first call that has none.
      if (call !== undefined)
        made({ id: call.id ?? call.name, name: call.name ?? '', input: parsed(call.args), result: null });
      if (response !== undefined) answered(response.id ?? response.name, JSON.stringify(response.response));
    }
  },
};

/** Returns the calls that a request shows, in their order, with their results. */
export function seenCalls(body: RequestBody, wire: Wire): SeenCall[] {
  const calls: OpenCall[] = [];
  readers[wire](
    body,
    (call) => calls.push(call),
    (id, result) => {
      const open = calls.find((one) => one.id === id && one.result === null);
      if (open !== undefined) open.result = result;
    },
  );
  return calls;
}

/** The names of the tools that a request offers, with the fields of their inputs. */
export function toolsIn({ tools }: RequestBody): Map<string, string[]> {
  type Schema = { properties?: Record<string, unknown> };
  type Offered = {
    name?: string;
    parameters?: Schema;
    parametersJsonSchema?: Schema;
    input_schema?: Schema;
    function?: Offered;
    functionDeclarations?: Offered[];
  };
  const offered = objectsIn<Offered>(tools).flatMap((tool) => tool.functionDeclarations ?? [tool.function ?? tool]);
  return new Map(
    offered.map(({ name = '', parameters, parametersJsonSchema, input_schema }) => [
      name,
      Object.keys((parameters ?? parametersJsonSchema ?? input_schema)?.properties ?? {}),
    ]),
  );
}

/** Whether a request says that the model must call a tool, any or a certain one. */
export function mustCall({ tool_choice: choice, toolConfig, tool_config }: RequestBody): boolean {
  type Choice = { type?: string; mode?: string; allowed_tools?: { mode?: string } };
  const { type, mode, allowed_tools } = (typeof choice === 'object' ? (choice ?? {}) : { type: choice }) as Choice;
  const asked =
    type === 'allowed_tools' ? (mode ?? allowed_tools?.mode) : (type ?? geminiMode(toolConfig ?? tool_config));
  return ['required', 'any', 'tool', 'function'].includes(String(asked).toLowerCase());
}

function geminiMode(config: unknown): string | undefined {
  type Config = { functionCallingConfig?: { mode?: string }; function_calling_config?: { mode?: string } };
  const { functionCallingConfig, function_calling_config } = (config ?? {}) as Config;
  return (functionCallingConfig ?? function_calling_config)?.mode;
}

/** A request in the order in which providers cache it: tools, instructions, messages. */
export function cachedText(body: RequestBody): string {
  const { tools, system, instructions, systemInstruction, messages, input, contents } = body;
  return JSON.stringify([tools, system ?? instructions ?? systemInstruction, messages ?? input ?? contents]);
}

/** What is in a list; nothing if a loop has sent something else. */
export function objectsIn<Item>(value: unknown): Item[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'object' && item !== null) : [];
}

function messagesOf(messages: unknown): RequestBody['messages'] {
  return objectsIn(messages);
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsIn<{ text?: unknown }>(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('');
}

/** An input as a value, however often it was encoded: a loop may send back what it was sent. */
function parsed(input: unknown): unknown {
  if (typeof input !== 'string') return input;
  try {
    return parsed(JSON.parse(input));
  } catch {
    return input;
  }
}
