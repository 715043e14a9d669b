/** A bare loop over `doStream`, which promises nothing, with the same packages and the same tool: `node bare.js URL TURNS`. */
import { z } from 'zod';
import { bareLoop } from '../floor.ts';
import { echo, inputSchema, model, turns } from './given.ts';
import { spent } from './spent.ts';

const offered = [
  {
    type: 'function' as const,
    name: 'echo',
    description: 'Echoes.',
    inputSchema: z.toJSONSchema(inputSchema) as { type: 'object' },
  },
];
const run = (input: { text: string }) => echo.execute?.(input, { toolCallId: '', messages: [], context: {} });
spent(await bareLoop(model, { echo: run }, offered, 'go'), turns);
