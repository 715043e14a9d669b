import { tool } from 'ai';
import { z } from 'zod';

/** A tool that answers immediately. */
export const search = tool({
  description: 'Searches.',
  inputSchema: z.object({ q: z.string() }),
  execute: async ({ q }) => `found ${q}`,
});

/** A reply with one `search` call. */
export const searchCall = { calls: [{ name: 'search', input: { q: 'x' } }] };

/** A tool that ignores its abort signal and never ends. */
export const deaf = tool({
  description: 'Never ends.',
  inputSchema: z.object({}),
  execute: () => new Promise<string>(() => undefined),
});

/** A tool that ends when it is aborted. */
export const patient = tool({
  description: 'Waits until it is aborted.',
  inputSchema: z.object({}),
  execute: (_, { abortSignal }) =>
    new Promise<string>((_resolve, reject) => {
      abortSignal?.addEventListener('abort', () => reject(new Error('aborted')));
    }),
});

export const failing = tool({
  description: 'Fails.',
  inputSchema: z.object({}),
  execute: async (): Promise<string> => {
    throw new Error('the disk is full');
  },
});

/** A tool that needs approval. */
export const guarded = tool({
  description: 'Deletes something.',
  inputSchema: z.object({ path: z.string() }),
  needsApproval: true,
  execute: async ({ path }) => `deleted ${path}`,
});
