/** An agent for clients of AG-UI: a call that a person has to approve interrupts the run, and the next run decides it. */
import { HttpAgent } from '@ag-ui/client';
import { serve } from '@hono/node-server';
import { tool } from 'ai';
import { defineAgent } from 'pawl';
import { agUiHandler } from 'pawl/ui';
import { z } from 'zod';
import { call, model } from './model.ts';

const inputSchema = z.object({ to: z.string() });
const send = tool({ inputSchema, needsApproval: true, execute: ({ to }) => `sent to ${to}` });
const agent = defineAgent({
  name: 'postman',
  models: [model({ text: 'I ha', finishReason: 'length' }, call('send', { to: 'Ada' }), { text: 'It is sent.' })],
  tools: { send },
  finish: 'text',
});
const port = await new Promise<number>((resolve) => {
  const server = serve({ fetch: agUiHandler(agent, { logger: false }), port: 0 }, (info) => resolve(info.port));
  server.unref();
});

const client = new HttpAgent({ url: `http://127.0.0.1:${port}`, threadId: 'letters' });
client.addMessage({ id: 'one', role: 'user', content: 'Write to Ada.' });
await client.runAgent();
const resume = client.pendingInterrupts.map(({ id, message }) => {
  console.log(message);
  return { interruptId: id, status: 'resolved' as const, payload: { approved: true } };
});
await client.runAgent({ resume });
console.log(client.messages.map(({ role, content = '' }) => `${role}: ${content}`).join(' | '));
process.exit();
// user: Write to Ada. | assistant:  | tool: sent to Ada | assistant: It is sent.
