import { Agent, run, tool } from '@openai/agents';
import { z } from 'zod';

const search = tool({
  name: 'search',
  description: 'Looks up a book.',
  parameters: z.object({ title: z.string() }),
  execute: async ({ title }) => ({ title, shelf: 'J-12' }),
});
const agent = new Agent({
  name: 'librarian',
  instructions: 'You answer from the catalogue.',
  model: 'gpt-5',
  tools: [search],
});
const { finalOutput } = await run(agent, 'Where is Ulysses?', { maxTurns: 5 });
console.log(finalOutput);
