import { openai } from '@ai-sdk/openai';
import { isStepCount, ToolLoopAgent, tool } from 'ai';
import { z } from 'zod';

const search = tool({
  description: 'Looks up a book.',
  inputSchema: z.object({ title: z.string() }),
  execute: async ({ title }) => ({ title, shelf: 'J-12' }),
});
const agent = new ToolLoopAgent({
  model: openai('gpt-5'),
  instructions: 'You answer from the catalogue.',
  tools: { search },
  stopWhen: isStepCount(5),
});
const { text } = await agent.generate({ prompt: 'Where is Ulysses?' });
console.log(text);
