/** The AI SDK's own loop: `node ai.js URL TURNS`. */
import { isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';
import { echo, model, turns } from './given.ts';
import { spent } from './spent.ts';

const final_report = tool({
  description: 'Reports.',
  inputSchema: z.object({ content: z.string() }),
  execute: () => 'reported',
});
const result = streamText({ model, prompt: 'go', tools: { echo, final_report }, stopWhen: isStepCount(turns) });
await result.consumeStream();
const steps = await result.steps;
spent(steps.length, turns);
