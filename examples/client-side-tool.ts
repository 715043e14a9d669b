/** A tool that runs elsewhere: its call is handed out, and answered from outside. */
import { tool } from 'ai';
import { defineAgent, startSession } from 'pawl';
import { z } from 'zod';
import { call, model, report } from './model.ts';

const location = tool({ description: 'Asks the page where its user is.', inputSchema: z.object({}) });
const agent = defineAgent({
  name: 'guide',
  models: [model(call('location'), report('You are in Trieste.'))],
  tools: { location },
});

const session = startSession(agent, { prompt: 'Where am I?' });
for await (const event of session.events)
  if (event.type === 'tool.handedOut') session.answer(event.callId, { city: 'Trieste' });
console.log((await session.result).report.content);
// You are in Trieste.
