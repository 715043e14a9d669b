/** An agent's call as an MCP task, waited for by another agent: the server asks, and the user of the other answers. */
import { tool } from 'ai';
import { defineAgent, serveMcp, sqliteJournal, startSession } from 'pawl';
import { z } from 'zod';
import { call, model } from './model.ts';

const send = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 'sent' });
const postman = defineAgent({
  name: 'postman',
  models: [model(call('send'), { text: 'The letter is on its way.' })],
  tools: { send },
  finish: 'text',
});
const journal = sqliteJournal(':memory:');
await using served = await serveMcp(postman, { transport: { http: {} }, journal, tasks: true, logger: false });

const writer = defineAgent({
  name: 'writer',
  models: [model(call('post__postman', { prompt: 'Send my letter.' }), { text: 'Done.' })],
  mcpServers: { post: { url: served.url ?? '', handlers: { elicit: 'ask' } } },
  finish: 'text',
});
const session = startSession(writer, {
  prompt: 'Write to Ada, and send it.',
  onEvent: (event) => {
    if (event.type === 'tool.followed') console.log('The server works on it.');
    if (event.type !== 'tool.asked') return;
    console.log(event.message);
    queueMicrotask(() => session.answer(event.callId, { approve: true }));
  },
});
const { conversation } = await session.result;
const answer = conversation.find(({ role }) => role === 'tool');
console.log(JSON.stringify(answer?.content[0]));
await served.close();
// {"type":"tool-result","toolCallId":"call-1-0","toolName":"post__postman","output":{"type":"text","value":"The letter is on its way."}}
