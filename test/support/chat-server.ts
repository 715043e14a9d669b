/** A server with one chat, for tests: `chat-server.ts MODEL_URL JOURNAL`. It prints its address. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool } from 'ai';
import { build } from 'esbuild';
import { z } from 'zod';
import { defineAgent, sqliteJournal } from '../../src/index.ts';
import { chatHandler } from '../../src/ui/index.ts';

const [modelUrl = '', journalFile = ''] = process.argv.slice(2);
const held: (() => void)[] = [];
const inputSchema = z.object({ to: z.string() });
const sent: string[] = [];
const models = [createOpenAICompatible({ name: 'served', baseURL: modelUrl })('m')];
const send = tool({
  inputSchema,
  needsApproval: true,
  execute: ({ to }) => {
    sent.push(to);
    return `sent to ${to}`;
  },
});
const agent = defineAgent({
  name: 'assistant',
  models,
  agents: { helper: defineAgent({ name: 'helper', models, tools: { send }, finish: 'text' }) },
  tools: {
    send,
    hold: tool({
      inputSchema: z.object({}),
      execute: (_, { abortSignal }) =>
        new Promise<string>((resolve) => {
          held.push(() => resolve('released'));
          abortSignal?.addEventListener('abort', () => resolve('stopped'));
        }),
    }),
  },
  finish: 'text',
});
const journal = sqliteJournal(journalFile, { leaseMs: 2_000 });
const handle = chatHandler(agent, { journal, logger: false });

let page: Promise<string> | null = null;
async function pageScript(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ['test/support/page/chat-page.tsx'],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  return outputFiles[0]?.text ?? '';
}

const http = createServer(async (request, response) => {
  const path = request.url ?? '/';
  if (path === '/') {
    response.setHeader('content-type', 'text/html');
    response.end(
      '<!doctype html><title>Chat</title><div id="root"></div><script type="module" src="/page.js"></script>',
    );
    return;
  }
  if (path === '/page.js') {
    page ??= pageScript();
    response.setHeader('content-type', 'text/javascript');
    response.end(await page);
    return;
  }
  if (path === '/release') {
    for (const release of held.splice(0)) release();
    response.end(JSON.stringify(sent));
    return;
  }
  const hasBody = request.method === 'POST';
  const answer = await handle(
    new Request(`http://localhost${path}`, {
      method: request.method ?? 'GET',
      headers: { 'content-type': 'application/json' },
      ...(hasBody && { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' }),
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) {
    response.end();
    return;
  }
  const reader = answer.body.getReader();
  response.once('close', () => void reader.cancel());
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    response.write(value);
  }
  response.end();
});
http.listen(0, '127.0.0.1', () => {
  const { port } = http.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
