import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';

type Message = {
  id?: number;
  method?: string;
  params?: { name?: string; cursor?: string; arguments?: Record<string, unknown> };
};
/** The ways to answer: send a proper message, send raw text, or die. */
type Way = { send: (message: object) => void; raw: (text: string) => void; die: () => void };

const schema = { type: 'object', properties: { text: { type: 'string' } } };
const oddSchemas: Record<string, unknown> = {
  hollow: {},
  wrong: { type: 'string' },
  later: { $async: true, type: 'object' },
  // Takes exponential time on most engines.
  evil: { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } },
  // Takes exponential time to check: each level is tried twice.
  doubled: {
    type: 'object',
    properties: { text: { $ref: '#/$defs/l0' } },
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, level) => {
        const next = { $ref: `#/$defs/l${level + 1}` };
        return [`l${level}`, level === 39 ? { type: 'number' } : { anyOf: [next, next] }];
      }),
    ),
  },
  deep: JSON.parse(`${'{"properties":{"a":'.repeat(200)}{}${'}}'.repeat(200)}`),
  large: { type: 'object', description: 'x'.repeat(100_000) },
};
const tool = (name: string) => ({ name, description: `It is ${name}.`, inputSchema: oddSchemas[name] ?? schema });
/** Tools of a server that floods its client, by the flag it was started with. */
const floods: Record<string, () => object[]> = {
  '--many': () => Array.from({ length: 2_000 }, (_, index) => tool(`tool ${index}`)),
  '--wordy': () => [{ ...tool('wordy'), description: 'word '.repeat(10_000) }],
  '--heavy': () =>
    Array.from({ length: 300 }, (_, index) => ({ ...tool(`t${index}`), description: 'x'.repeat(20_000) })),
};
const flood = floods[process.argv.find((argument) => argument in floods) ?? ''];
const pages = [
  ['echo', 'hang', 'die', 'flood'],
  ['twice', 'garbage', 'change', 'huge', 'refuse', 'empty', 'odd result'],
  ['late', 'storm', 'busy', 'summary', 'same', 'environment', ...Object.keys(oddSchemas)],
];
let changed = false;

/** Answers as an MCP server whose tools are named after their misbehaviour. */
function answer({ id, method, params }: Message, { send, raw, die }: Way): unknown {
  const reply = (result: object) => send({ jsonrpc: '2.0', id, result });
  const text = (words: string, more: object = {}) => reply({ content: [{ type: 'text', text: words }], ...more });
  if (method === 'initialize') {
    if (process.env.ODD_MUTE === '1') return null;
    reply({
      protocolVersion: '2025-06-18',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'odd', version: '1' },
    });
  } else if (method === 'tools/list') {
    if (flood !== undefined) return reply({ tools: flood() });
    const page = Number(params?.cursor ?? 0);
    const names = [...(pages[page] ?? []), ...(changed && page === 0 ? ['added'] : [])];
    reply({ tools: names.map(tool), ...(page + 1 < pages.length && { nextCursor: String(page + 1) }) });
  } else if (method === 'ping') {
    reply({});
  } else if (method === 'tools/call') {
    switch (params?.name) {
      case 'hang':
        return null;
      case 'die':
        return die();
      case 'flood':
        for (let line = 0; line < 2_000; line += 1) process.stderr.write(`noise ${'x'.repeat(1_000)}\n`);
        return text('flooded');
      case 'twice':
        text('once');
        return text('twice');
      case 'garbage':
        raw('this is no JSON {\n');
        return text('after garbage');
      case 'change':
        changed = true;
        send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
        return text('changed');
      case 'storm':
        for (let count = 0; count < 500; count += 1)
          send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
        return text('calm');
      case 'summary':
        return text('Found 2 users.', { structuredContent: { users: ['ann', 'bob'] } });
      case 'same':
        return text('{ "a": 1 }', { structuredContent: { a: 1 } });
      case 'busy':
        return send({ jsonrpc: '2.0', id, error: { code: -32_000, message: 'Quota exceeded: try again in 60 s' } });
      case 'huge':
        return text('x'.repeat(50_000_000));
      case 'refuse':
        return text('it cannot be done', { isError: true });
      case 'empty':
        return reply({ content: [] });
      case 'odd result':
        return reply({ content: 'not a list' });
      case 'late':
        // Sends a sampling request first, although the client has not declared that capability.
        send({ jsonrpc: '2.0', id: 900, method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } });
        return text('asked back');
      case 'environment':
        return text(JSON.stringify(process.env));
      default:
        return text(`${params?.name}: ${JSON.stringify(params?.arguments ?? {})}`);
    }
  } else if (id !== undefined) {
    send({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } });
  }
}

/** Serves the same over HTTP, in this process, one answer per response body. If `deaf`, it never ends its sessions. */
export async function faultyHttpServer({ deaf = false } = {}) {
  let alive = true;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (!alive) return response.destroy();
    if (request.method === 'DELETE' && deaf) return;
    if (request.method !== 'POST') return response.writeHead(405).end();
    const message: Message = JSON.parse(Buffer.concat(chunks).toString());
    if (message.id === undefined) return response.writeHead(202).end();
    response.setHeader('content-type', 'application/json');
    if (deaf) response.setHeader('mcp-session-id', 'one');
    answer(message, {
      send: (sent) => {
        if ('id' in sent && sent.id === message.id && !response.writableEnded) response.end(JSON.stringify(sent));
      },
      raw: (words) => response.end(words),
      die: () => response.destroy(),
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      alive = false;
      changed = false;
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, [Symbol.asyncDispose]: close };
}

if (process.argv.includes('--stdio')) {
  // A child process that a careless client would leave behind.
  if (process.argv.includes('--with-child')) spawn('sleep', ['3600'], { stdio: 'ignore' });
  // A server that ignores SIGTERM.
  if (process.argv.includes('--stubborn')) process.on('SIGTERM', () => undefined);
  const lines = createInterface({ input: process.stdin });
  const way: Way = {
    send: (message) => void process.stdout.write(`${JSON.stringify(message)}\n`),
    raw: (text) => void process.stdout.write(text),
    die: () => process.exit(1),
  };
  const delayMs = process.argv.includes('--slow') ? 600 : 0;
  lines.on('line', (line) => setTimeout(() => answer(JSON.parse(line), way), delayMs));
  if (process.argv.includes('--stubborn')) setInterval(() => undefined, 1_000);
}
