import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';
import { shown } from '../../errors.ts';

export type McpTool = { name: string; description: string; inputSchema: object };

const mostPages = 1_000;

/** The unchecked list: one malformed tool must not discard the others. */
const listed = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });
const listedTool = z.looseObject({
  name: z.string().min(1),
  description: z.string().nullish(),
  inputSchema: z.looseObject({ type: z.literal('object').default('object') }).default({ type: 'object' }),
});

/** Reads all pages of the tool list. Throws if the list has too many pages. */
export async function listTools(client: Client, timeoutMs: number): Promise<{ tools: McpTool[]; leftOut: string[] }> {
  const tools: McpTool[] = [];
  const leftOut: string[] = [];
  if (client.getServerCapabilities()?.tools === undefined) return { tools, leftOut };
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: 'tools/list', params }, listed, { timeout: timeoutMs });
    for (const candidate of answer.tools) {
      const { data, error } = listedTool.safeParse(candidate);
      if (data !== undefined)
        tools.push({ name: data.name, description: data.description ?? '', inputSchema: data.inputSchema });
      else
        leftOut.push(
          `skipped a tool: ${error.issues[0]?.path.join('.')} ${error.issues[0]?.message} in ${shown(candidate)}`,
        );
    }
    cursor = answer.nextCursor ?? '';
    if (cursor === '') return { tools, leftOut };
  }
  throw new Error(`the tool list has more than ${mostPages} pages`);
}
