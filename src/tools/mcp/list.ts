import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { z } from 'zod';
import { shown } from '../../input/errors.ts';
import { headOf } from '../../platform/text.ts';

export type McpTool = { name: string; description: string; inputSchema: object };

const mostPages = 1_000;
const mostTools = 512;

/** Bytes of all pages together. */
const mostListBytes = 4 * 1_024 * 1_024;

/** Bytes of one description, which every request repeats. */
const mostDescriptionBytes = 4_096;

/** The unchecked list: one malformed tool must not discard the others. */
const listed = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });
const listedTool = z.looseObject({
  name: z.string().min(1),
  description: z.string().nullish(),
  inputSchema: z.looseObject({ type: z.literal('object').default('object') }).default({ type: 'object' }),
});

/**
 * Reads the pages of the tool list, up to the most tools and bytes; `leftOut` says what was skipped. A cursor that was seen
 * before is the end of the list. Throws if the list has too many pages.
 */
export async function listTools(
  client: Client,
  options: RequestOptions,
): Promise<{ tools: McpTool[]; leftOut: string[] }> {
  const tools: McpTool[] = [];
  const leftOut: string[] = [];
  const names = new Set<string>();
  if (client.getServerCapabilities()?.tools === undefined) return { tools, leftOut };
  let cursor: string | undefined;
  const cursors = new Set<string>();
  let bytes = 0;
  for (let page = 0; page < mostPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: 'tools/list', params }, listed, options);
    bytes += Buffer.byteLength(JSON.stringify(answer.tools));
    if (bytes > mostListBytes) {
      leftOut.push(`skipped all tools after the first ${tools.length}: the list is larger than ${mostListBytes} bytes`);
      return { tools, leftOut };
    }
    for (const candidate of answer.tools) {
      if (tools.length === mostTools) {
        leftOut.push(`skipped all tools after the first ${mostTools}`);
        return { tools, leftOut };
      }
      const { data, error } = listedTool.safeParse(candidate);
      // Under another name, it would escape the policies for this one.
      if (data !== undefined && names.has(data.name)) leftOut.push(`skipped another tool named ${shown(data.name)}`);
      else if (data !== undefined) {
        names.add(data.name);
        tools.push({ name: data.name, description: shortened(data.description ?? ''), inputSchema: data.inputSchema });
      } else
        leftOut.push(
          `skipped a tool: ${error.issues[0]?.path.join('.')} ${error.issues[0]?.message} in ${shown(candidate)}`,
        );
    }
    cursor = answer.nextCursor ?? '';
    // A cursor that came before leads round in a circle.
    if (cursor === '' || cursors.has(cursor)) return { tools, leftOut };
    cursors.add(cursor);
  }
  throw new Error(`the tool list has more than ${mostPages} pages`);
}

function shortened(description: string): string {
  const head = headOf(description, mostDescriptionBytes);
  return head.length < description.length ? `${head}…` : head;
}
