/** An MCP server over stdio with one tool, `note`, which notes its effect in a file: `node note-mcp.ts FILE`. */
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [file = ''] = process.argv.slice(2);

const results: Record<string, () => object> = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'note', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'note', description: 'Notes it.', inputSchema: { type: 'object' } }] }),
  'tools/call': () => {
    appendFileSync(file, 'note once\n');
    return { content: [{ type: 'text', text: 'Noted.' }] };
  },
};

createInterface(process.stdin).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const result = results[method]?.();
  const error = { code: -32_601, message: 'Method not found' };
  if (id !== undefined)
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) })}\n`);
});
