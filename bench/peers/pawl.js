/** A session of Pawl. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool } from 'ai';
import { defineAgent, runSession } from 'pawl';
import { z } from 'zod';
import { measure } from './measure.js';

await measure(async (url, id, onTool = () => {}) => {
  const model = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true })(id);
  const echo = tool({
    description: 'Echoes.',
    inputSchema: z.object({ text: z.string() }),
    execute: ({ text }) => {
      onTool();
      return text;
    },
  });
  const limits = { maxTurns: Number(id.split('-')[1]) };
  const agent = defineAgent({ name: 'bench', models: [model], tools: { echo }, limits });
  return async () => (await runSession(agent, { prompt: 'go', logger: false })).counters.turns;
});
