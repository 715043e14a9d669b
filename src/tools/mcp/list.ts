import type { Client, RequestOptions } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { shown } from '../../input/errors.ts';
import { isRecord } from '../../platform/plain-json.ts';
import { headOf } from '../../platform/text.ts';

export type McpTool = { name: string; description: string; inputSchema: object };

const mostPages = 1_000;
const mostTools = 512;

/** Bytes of all pages together. */
const mostListBytes = 4 * 1_024 * 1_024;

const dayMs = 86_400_000;

/** Bytes of one description, which every request repeats. */
const mostDescriptionBytes = 4_096;

/** The unchecked list: one malformed tool must not discard the others. */
const listed = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().nullish(),
  ttlMs: z.number().min(0).nullish().catch(null),
});
const listedTool = z.looseObject({
  name: z.string().min(1),
  description: z.string().nullish(),
  inputSchema: z.looseObject({ type: z.literal('object').default('object') }).default({ type: 'object' }),
});

/**
 * Reads the pages of the tool list, up to the most tools and bytes; `leftOut` says what was skipped. A cursor that was seen
 * before is the end of the list. `ttlMs`: how long the server says that it holds, a day at most; null if it does not say.
 * Throws if the list has too many pages.
 */
export async function listTools(
  client: Client,
  options: RequestOptions,
): Promise<{ tools: McpTool[]; leftOut: string[]; ttlMs: number | null }> {
  const tools: McpTool[] = [];
  const leftOut: string[] = [];
  const names = new Set<string>();
  if (client.getServerCapabilities()?.tools === undefined) return { tools, leftOut, ttlMs: null };
  const hasHeaders = client.getProtocolEra() === 'modern';
  let ttlMs: number | null = null;
  let cursor: string | undefined;
  const cursors = new Set<string>();
  let bytes = 0;
  for (let page = 0; page < mostPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: 'tools/list', params }, listed, options);
    if (typeof answer.ttlMs === 'number') ttlMs = Math.min(answer.ttlMs, ttlMs ?? dayMs);
    bytes += Buffer.byteLength(JSON.stringify(answer.tools));
    if (bytes > mostListBytes) {
      leftOut.push(`skipped all tools after the first ${tools.length}: the list is larger than ${mostListBytes} bytes`);
      return { tools, leftOut, ttlMs };
    }
    for (const candidate of answer.tools) {
      if (tools.length === mostTools) {
        leftOut.push(`skipped all tools after the first ${mostTools}`);
        return { tools, leftOut, ttlMs };
      }
      const { data, error } = listedTool.safeParse(candidate);
      const badHeader = data === undefined || !hasHeaders ? null : headerFault(data.inputSchema);
      // Under another name, it would escape the policies for this one.
      if (badHeader !== null) leftOut.push(`skipped the tool ${shown(data?.name)}: ${badHeader}`);
      else if (data !== undefined && names.has(data.name))
        leftOut.push(`skipped another tool named ${shown(data.name)}`);
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
    if (cursor === '' || cursors.has(cursor)) return { tools, leftOut, ttlMs };
    cursors.add(cursor);
  }
  throw new Error(`the tool list has more than ${mostPages} pages`);
}

function shortened(description: string): string {
  const head = headOf(description, mostDescriptionBytes);
  return head.length < description.length ? `${head}…` : head;
}

const headerKey = 'x-mcp-header';
const deepest = 500;

/**
 * Returns why a tool cannot be called over HTTP, by what its schema says of headers (`Mcp-Param-*`): those of revision
 * 2026-07-28 stand at strings, integers and booleans that `properties` alone lead to, each under a name of its own.
 */
function headerFault(schema: object): string | null {
  const names = new Set<string>();
  const faultOf = ({ [headerKey]: name, type }: Record<string, unknown>): string | null => {
    if (typeof name !== 'string' || !/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) return `${shown(name)} names no header`;
    if (!['string', 'integer', 'boolean'].includes(String(type))) return `a header cannot hold ${shown(type)}`;
    if (names.has(name.toLowerCase())) return `two headers are named ${shown(name)}`;
    names.add(name.toLowerCase());
    return null;
  };
  const visit = (node: unknown, place: 'root' | 'property' | 'elsewhere', depth: number): string | null => {
    if (typeof node !== 'object' || node === null) return null;
    if (depth > deepest) return 'its input schema is nested too deeply';
    if (!Array.isArray(node) && headerKey in node) {
      const fault = place === 'property' ? faultOf({ ...node }) : `${headerKey} stands where no property is`;
      if (fault !== null) return fault;
    }
    for (const [key, value] of Object.entries(node)) {
      const isProperties = key === 'properties' && place !== 'elsewhere' && isRecord(value);
      const inner: unknown[] = isProperties ? Object.values(value) : [value];
      for (const one of inner) {
        const fault = visit(one, isProperties ? 'property' : 'elsewhere', depth + 1);
        if (fault !== null) return fault;
      }
    }
    return null;
  };
  return visit(schema, 'root', 0);
}
