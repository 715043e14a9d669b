/** An MCP server over stdio with as many tools as its argument says: `node many-tools.ts COUNT`. */
import { createInterface } from 'node:readline';

const count = Number(process.argv[2]);
const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };

const results: Record<string, () => object> = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'many', version: '1' },
  }),
  'tools/list': () => ({
    tools: Array.from({ length: count }, (_, index) => ({
      name: `tool_${index}`,
      description: 'Does it.',
      inputSchema,
    })),
  }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'Done.' }] }),
};

createInterface(process.stdin).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const result = results[method]?.();
  if (result !== undefined) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
});
