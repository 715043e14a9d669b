/** A chat behind Hono: `useChat` talks to /chat, and any chat client to /v1. */
import { Hono } from 'hono';
import { defineAgent } from 'pawl';
import { openaiHandler } from 'pawl/openai';
import { chatHandler } from 'pawl/ui';
import { model } from './model.ts';

const agent = defineAgent({
  name: 'companion',
  models: [model({ text: 'Hello.' }, { text: 'Hello.' })],
  finish: 'text',
});
const [chat, openai] = [chatHandler(agent, { path: '/chat' }), openaiHandler([agent])];
const app = new Hono()
  .all('/chat/*', (c) => chat(c.req.raw))
  .all('/chat', (c) => chat(c.req.raw))
  .all('/v1/*', (c) => openai(c.req.raw));

const post = (path: string, body: object) =>
  app.request(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] };
const page = await post('/chat', { id: 'c1', messages: [message], trigger: 'submit-message' });
const client = await post('/v1/chat/completions', { model: 'companion', messages: [{ role: 'user', content: 'Hi.' }] });
console.log((await page.text()).includes('"finish"'), ((await client.json()) as { object: string }).object);
// true chat.completion
