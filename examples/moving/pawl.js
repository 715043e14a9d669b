import { tool } from 'ai';
import { defineAgent, runSession } from 'pawl';
import { z } from 'zod';

const search = tool({
  description: 'Looks up a book.',
  inputSchema: z.object({ title: z.string() }),
  execute: async ({ title }) => ({ title, shelf: 'J-12' }),
});
const agent = defineAgent({
  name: 'librarian',
  instructions: 'You answer from the catalogue.',
  models: ['openai:gpt-5'],
  tools: { search },
  limits: { maxTurns: 5, maxRetries: 3 },
});
const { success, slugs, report } = await runSession(agent, { prompt: 'Where is Ulysses?' });
console.log(success ? report.content : slugs);
