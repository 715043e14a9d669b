import type { RequestBody, Wire } from '../testing/model-server.ts';

/** A call that a transcript shows. `result`: null while none is in it. */
export type SeenCall = { name: string; input: unknown; result: string | null };

type Block = { type?: string; id?: string; name?: string; input?: unknown; tool_use_id?: string; content?: unknown };
type OpenCall = { id?: string; function?: { name?: string; arguments?: string } };

/** Returns the calls that a request shows, in their order, with their results. */
export function seenCalls({ messages }: RequestBody, wire: Wire): SeenCall[] {
  const calls: (SeenCall & { id: string })[] = [];
  const answer = (id: unknown, result: string) => {
    const open = calls.find((one) => one.id === id && one.result === null);
    if (open !== undefined) open.result = result;
  };
  for (const message of listOf<RequestBody['messages'][number]>(messages)) {
    const { role, content, tool_calls, tool_call_id } = message ?? {};
    if (wire === 'openai') {
      for (const { id = '', function: made } of listOf<OpenCall>(tool_calls))
        calls.push({ id, name: made?.name ?? '', input: parsed(made?.arguments ?? ''), result: null });
      if (role === 'tool') answer(tool_call_id, textOf(content));
      continue;
    }
    for (const block of listOf<Block>(content)) {
      if (block.type === 'tool_use')
        calls.push({ id: block.id ?? '', name: block.name ?? '', input: parsed(block.input), result: null });
      if (block.type === 'tool_result') answer(block.tool_use_id, textOf(block.content));
    }
  }
  return calls;
}

/** The names of the tools that a request offers, with the fields of their inputs. */
export function toolsIn({ tools }: RequestBody): Map<string, string[]> {
  type Offered = { name?: string; input_schema?: Schema; function?: { name?: string; parameters?: Schema } };
  type Schema = { properties?: Record<string, unknown> };
  return new Map(
    listOf<Offered>(tools).map(({ name, input_schema, function: made }) => [
      made?.name ?? name ?? '',
      Object.keys((made?.parameters ?? input_schema)?.properties ?? {}),
    ]),
  );
}

/** What is in a list; nothing if a loop has sent something else. */
function listOf<Item>(value: unknown): Item[] {
  return Array.isArray(value) ? value : [];
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('');
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
