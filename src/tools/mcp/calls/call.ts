import type { CallToolResult, Client, Progress } from '@modelcontextprotocol/client';
import { ToolError } from '../../../vocabulary/tool-error.ts';
import type { ToolRun } from '../../catalog-tool.ts';
import { noTimeout } from '../connector.ts';
import type { McpTool } from '../list.ts';
import { posted } from './posted-call.ts';

/** The most of a server's progress that is shown, in bytes. */
export const mostProgressBytes = 1_000;

/** The field of a call's metadata that holds its idempotency key. */
const keyField = 'pawl/idempotency-key';

type Called = {
  server: string;
  /** What the server said, as it may be told. */
  said: (text: string) => string;
  /** The server may be gone. */
  suspect: (why: string) => void;
};

/** Sends a call once, and shows its progress. */
export function sentCall(
  client: Client,
  tools: readonly McpTool[],
  tool: string,
  input: Record<string, unknown>,
  run: ToolRun,
  { server, said, suspect }: Called,
): Promise<CallToolResult> {
  const onprogress = ({ progress, total, message }: Progress) => {
    const value = [`${progress}${total === undefined ? '' : ` of ${total}`}`, message].join(' ').trim();
    run.progress({ type: 'text', value: said(value) }, mostProgressBytes);
  };
  const inputSchema = { type: 'object' as const, ...tools.find(({ name }) => name === tool)?.inputSchema };
  // Some of its fields may be headers, too. Its results are not judged: they are the model's to read.
  const toolDefinition = { name: tool, inputSchema };
  const called = { name: tool, arguments: input, _meta: { [keyField]: run.idempotencyKey } };
  const send = (signal: AbortSignal) => client.callTool(called, { ...noTimeout, signal, onprogress, toolDefinition });
  return posted(send, run.signal, (why) => {
    suspect(why);
    return new ToolError(`The server ${server} gave no answer to the call, which may have run: ${why}.`);
  });
}
