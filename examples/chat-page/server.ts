/** A chat page to copy. `node examples/chat-page/server.ts` prints its address; MODEL and a key make the answers real. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { tool } from 'ai';
import { build } from 'esbuild';
import { Hono } from 'hono';
import { defineAgent, sqliteJournal } from 'pawl';
import { chatHandler, listChats } from 'pawl/ui';
import { z } from 'zod';
import { model } from './model.ts';

const notes = new Map([['notes.md', 'Pay the bill of May.\n']]);
const agent = defineAgent({
  name: 'editor',
  instructions: 'You keep the notes of the user. Read them before you edit them.',
  models: [model],
  finish: 'text',
  tools: {
    read_file: tool({
      description: 'Reads a file.',
      inputSchema: z.object({ path: z.string() }),
      execute: ({ path }) => notes.get(path) ?? 'There is no such file.',
    }),
    edit_file: tool({
      description: 'Replaces a text in a file.',
      inputSchema: z.object({ path: z.string(), old_text: z.string(), new_text: z.string() }),
      needsApproval: true,
      execute: ({ path, old_text, new_text }) => {
        notes.set(path, (notes.get(path) ?? '').replace(old_text, new_text));
        return `${path} is changed`;
      },
    }),
  },
});

const journal = sqliteJournal(process.argv[2] ?? 'chat.db');
const chat = chatHandler(agent, { journal });
const here = import.meta.dirname;
const { outputFiles } = await build({
  ...{ entryPoints: [join(here, 'page.tsx')], bundle: true, write: false, format: 'esm', jsx: 'automatic' },
  ...{ minify: true, define: { 'process.env.NODE_ENV': '"production"' } },
});
const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Chat</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${readFileSync(join(here, 'page.css'), 'utf8')}</style>
<div id="root"></div><script type="module" src="/page.js"></script></html>`;

const app = new Hono()
  .get('/', (c) => c.html(html))
  .get('/page.js', (c) => c.body(outputFiles[0]?.text ?? '', 200, { 'content-type': 'text/javascript' }))
  .get('/api/chats', async (c) => c.json(await listChats(journal)))
  .all('/api/chat/*', (c) => chat(c.req.raw))
  .all('/api/chat', (c) => chat(c.req.raw));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 0) }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}`),
);
