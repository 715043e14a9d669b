/** The AI SDK's own loop: `node ai.js URL TURNS`. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';
import { spent } from './spent.ts';

const [url = '', turns = ''] = process.argv.slice(2);
const provider = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true });
const echo = tool({
  description: 'Echoes.',
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }: { text: string }) => text,
});
const final_report = tool({
  description: 'Reports.',
  inputSchema: z.object({ content: z.string() }),
  execute: () => 'reported',
});
const result = streamText({
  model: provider(`bare-${turns}`),
  prompt: 'go',
  tools: { echo, final_report },
  stopWhen: isStepCount(Number(turns)),
});
await result.consumeStream();
const steps = await result.steps;
spent(steps.length, Number(turns));
