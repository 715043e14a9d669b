/** A session of Pawl: `node pawl.js URL TURNS`. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool } from 'ai';
import { defineAgent, runSession } from 'pawl';
import { z } from 'zod';
import { spent } from './spent.ts';

const [url = '', turns = ''] = process.argv.slice(2);
const provider = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true });
const echo = tool({
  description: 'Echoes.',
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }: { text: string }) => text,
});
const agent = defineAgent({
  name: 'bench',
  models: [provider(`bare-${turns}`)],
  tools: { echo },
  limits: { maxTurns: Number(turns) },
});
const { counters } = await runSession(agent, { prompt: 'go', logger: false });
spent(counters.turns, Number(turns));
