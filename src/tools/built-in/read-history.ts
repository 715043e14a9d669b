import { z } from 'zod';
import { lazily } from '../../platform/lazily.ts';
import { ToolError } from '../../vocabulary/tool-error.ts';
import type { CatalogTool } from '../catalog-tool.ts';
import { schemaTool } from '../schema-tool.ts';

const readInput = lazily(() => z.object({ page: z.int().min(1).default(1).describe('The page, from 1.') }));

/** Reads what compactions took out of the conversation (T-9). */
export function readHistoryTool(name: string): CatalogTool {
  return schemaTool({
    name,
    description: 'Reads a page of the earlier messages that were replaced because the conversation became too long.',
    input: readInput(),
    afterCrash: 'repeat',
    execute: ({ page }, { historyPage }) => {
      const found = historyPage(page);
      if (found === null) throw new ToolError(`There is no page ${page} of earlier messages.`);
      return `[page ${page} of ${found.of} of the earlier messages]\n${found.text}`;
    },
  });
}
