import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool } from 'ai';
import { z } from 'zod';

const [url = '', count = ''] = process.argv.slice(2);

/** What the programs share: `node PROGRAM.js URL TURNS`. */
export const turns = Number(count);

export const model = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true })(`bare-${turns}`);

export const inputSchema = z.object({ text: z.string() });

export const echo = tool({
  description: 'Echoes.',
  inputSchema,
  execute: ({ text }: { text: string }) => text,
});
