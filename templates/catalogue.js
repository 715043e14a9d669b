import { tool } from 'ai';
import { z } from 'zod';

const shelves = { ulysses: 'B4', dubliners: 'B5', 'moby-dick': 'M1' };

/** A tool: what it returns is what the model reads. */
export const findBook = tool({
  description: 'Finds a book in the catalogue, by its title.',
  inputSchema: z.object({ title: z.string() }),
  execute: ({ title }) => {
    const shelf = shelves[title.toLowerCase().replaceAll(' ', '-')];
    return shelf === undefined ? `The catalogue has no book titled "${title}".` : { title, shelf };
  },
});
