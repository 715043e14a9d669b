import { z } from 'zod';
import { lazily } from '../../platform/lazily.ts';
import { ToolError } from '../../vocabulary/tool-error.ts';
import type { CatalogTool } from '../catalog-tool.ts';
import { schemaTool } from '../schema-tool.ts';

const readInput = lazily(() =>
  z.object({
    id: z.string().describe('The id given in the shortened result.'),
    page: z.int().min(1).default(1).describe('The page, from 1.'),
  }),
);

/** Reads the text cut from a large result, so that the model can access a tool's complete output. */
export function readResultTool(name: string): CatalogTool {
  return schemaTool({
    name,
    description: 'Reads a page of a result that was too large to show in full.',
    input: readInput(),
    afterCrash: 'repeat',
    execute: ({ id, page }, { resultPage }) => {
      const found = resultPage(id, page);
      if (found === null) throw new ToolError(`No page ${page} of result ${id}.`);
      return `[page ${page} of ${found.of} of ${id}]\n${found.text}`;
    },
  });
}
