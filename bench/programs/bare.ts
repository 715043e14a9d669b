/** A bare loop over `doStream`, which promises nothing, with the same packages and the same tool: `node bare.js URL TURNS`. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool } from 'ai';
import { z } from 'zod';
import { bareLoop } from '../floor.ts';
import { spent } from './spent.ts';

const [url = '', turns = ''] = process.argv.slice(2);
const provider = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true });
const inputSchema = z.object({ text: z.string() });
const echo = tool({ description: 'Echoes.', inputSchema, execute: ({ text }: { text: string }) => text });
const offered = [
  {
    type: 'function' as const,
    name: 'echo',
    description: 'Echoes.',
    inputSchema: z.toJSONSchema(inputSchema) as { type: 'object' },
  },
];
const run = (input: { text: string }) => echo.execute?.(input, { toolCallId: '', messages: [], context: {} });
const taken = await bareLoop(provider(`bare-${turns}`), { echo: run }, offered, 'go');
spent(taken, Number(turns));
