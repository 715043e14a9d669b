import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

const search = createTool({
  id: 'search',
  description: 'Looks up a book.',
  inputSchema: z.object({ title: z.string() }),
  execute: async ({ title }) => ({ title, shelf: 'J-12' }),
});
const agent = new Agent({
  id: 'librarian',
  name: 'librarian',
  instructions: 'You answer from the catalogue.',
  model: 'openai/gpt-5',
  tools: { search },
});
const { text } = await agent.generate('Where is Ulysses?', { maxSteps: 5 });
console.log(text);
process.exit(0);
