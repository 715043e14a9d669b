import { z } from 'zod';
import { priorities } from '../../machines/index.ts';
import type { LocalTool } from '../tools/local.ts';
import { ToolError } from '../vocabulary/tool-error.ts';
import { backlogFolder } from './backlog/backlog.ts';
import { readConfig } from './backlog/config.ts';
import { checkedItem, createWorkItem } from './backlog/work-items.ts';

/** The schema for models: one object, since providers reject a top-level union. Required fields are checked later. */
const offered = z.strictObject({
  item_type: z.enum(['bug', 'feature', 'human_action']),
  title: z.string().describe('One line'),
  component: z.string().describe('The affected part of the project'),
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
      'For a bug: severity, reproducibility, steps_to_reproduce, expected_behavior, actual_behavior, impact. For a feature: type, estimated_effort, business_value. For a human action: required_action, reason, urgency, blocking_items.',
    ),
  on_duplicate: z.enum(['create', 'refuse']).optional(),
});

/**
 * Returns `createWorkItem` as a tool for agents. If similar items are open, the tool lists them and writes nothing,
 * unless the model passes `on_duplicate: "create"`. The backlog's `.agent-config.json` decides whether items are
 * committed.
 */
export function workItemTool(backlog: string): LocalTool {
  const folder = backlogFolder(backlog);
  return {
    description:
      'Adds a bug, a feature or a human action to the backlog. If a similar item is open, it is named and nothing is written: look at it, and call again with on_duplicate "create" if yours is different.',
    inputSchema: offered,
    execute: async (input: unknown) => {
      const { on_duplicate = 'refuse', ...given } = offered.parse(input);
      const { auto_commit } = readConfig(folder);
      const result = await createWorkItem(folder, checkedItem({ ...given, on_duplicate, auto_commit }));
      if (result.created) return result;
      const known = result.duplicates
        .filter(({ isOpen }) => isOpen)
        .map(({ id, title }) => `${id} "${title}"`)
        .join(', ');
      throw new ToolError(`Nothing was written, because similar items are open: ${known}.`);
    },
  };
}
