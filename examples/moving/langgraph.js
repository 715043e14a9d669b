import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { z } from 'zod';

const search = tool(({ title }) => JSON.stringify({ title, shelf: 'J-12' }), {
  name: 'search',
  description: 'Looks up a book.',
  schema: z.object({ title: z.string() }),
});
const agent = createAgent({
  model: new ChatOpenAI({ model: 'gpt-5' }),
  systemPrompt: 'You answer from the catalogue.',
  tools: [search],
});
const messages = [{ role: 'user', content: 'Where is Ulysses?' }];
const state = await agent.invoke({ messages }, { recursionLimit: 10 });
console.log(state.messages.at(-1).text);
