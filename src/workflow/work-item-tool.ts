import { z } from 'zod';
import { priorities } from '../../machines/index.ts';
import type { LocalTool } from '../tools/local.ts';
import { ToolError } from '../tools/result.ts';
import { backlogFolder } from './backlog.ts';
import { readConfig } from './config.ts';
import { checkedItem, createWorkItem } from './work-items.ts';

/** As models are told: one object, since providers take no union at the top. What each type needs is checked after. */
const offered = z.strictObject({
  item_type: z.enum(['bug', 'feature', 'human_action']),
  title: z.string().describe('One line'),
  component: z.string().describe('The part of the project that it is about'),
  priority: z.enum(priorities).optional(),
  description: z.string(),
  evidence: z
    .array(
      z.strictObject({
        type: z.enum(['file', 'log', 'output', 'link']),
        location: z.string(),
        description: z.string(),
      }),
    )
    .optional(),
  metadata: z
    .looseObject({})
    .optional()
    .describe(
      'Of a bug: severity, reproducibility, steps_to_reproduce, expected_behavior, actual_behavior, impact. Of a feature: type, estimated_effort, business_value. Of a human action: required_action, which is needed.',
    ),
  on_duplicate: z.enum(['create', 'refuse']).optional(),
});

/**
 * `createWorkItem` as a tool for agents. Similar open items are named and nothing is written, unless the model says
 * `on_duplicate: "create"`. Whether items are committed says the backlog's `.agent-config.json`.
 */
export function workItemTool(backlog: string): LocalTool {
  const folder = backlogFolder(backlog);
  return {
    description:
      'Writes a bug, a feature or a human action into the backlog. When a similar item is open, it is named and nothing is written: look at it, and call again with on_duplicate "create" if yours is another one.',
    inputSchema: offered,
    execute: async (input: unknown) => {
      const { on_duplicate = 'refuse', ...given } = offered.parse(input);
      const { auto_commit } = readConfig(folder);
      const result = await createWorkItem(folder, checkedItem({ ...given, on_duplicate, auto_commit }));
      if (result.created) return result;
      const known = result.duplicates.map(({ id, title }) => `${id} "${title}"`).join(', ');
      throw new ToolError(`Nothing was written: similar items are open: ${known}.`);
    },
  };
}
