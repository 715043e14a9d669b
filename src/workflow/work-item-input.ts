import { z } from 'zod';
import { priorities } from '../../machines/index.ts';

const words = z.string({ error: 'a text is allowed' });
const blank = 'a text that is not blank is allowed';
const text = words.refine((value) => value.trim() !== '', { error: blank });
const titleRule = 'one line of 1 to 200 characters is allowed';
const title = words.refine((value) => value.trim() !== '' && value.length <= 200 && !/\p{Cc}/u.test(value), {
  error: titleRule,
});
const listOfTexts = z.array(text, { error: 'a list of texts is allowed' });

const evidence = z.strictObject({
  type: z.enum(['file', 'log', 'output', 'link'], { error: "'file', 'log', 'output' or 'link' is allowed" }),
  location: text,
  description: text,
});

const shared = {
  title,
  component: text,
  priority: z.enum(priorities, { error: "'P0', 'P1', 'P2' or 'P3' is allowed" }).default('P2'),
  evidence: z.array(evidence, { error: 'a list of { type, location, description } is allowed' }).default([]),
  description: text,
  /** Whether the item is committed to git; default false. */
  auto_commit: z.boolean({ error: 'a boolean is allowed' }).default(false),
  /** The branch to commit to; default the current one. */
  branch_name: text.optional(),
  /** What happens when a similar item is open: `create` writes and names it, `refuse` names it and writes nothing. */
  on_duplicate: z.enum(['create', 'refuse'], { error: "'create' or 'refuse' is allowed" }).default('create'),
};

/** Fields beyond these are kept as they are. */
const bugMetadata = z.looseObject({
  severity: z
    .enum(['critical', 'high', 'medium', 'low'], { error: "'critical', 'high', 'medium' or 'low' is allowed" })
    .default('medium'),
  reproducibility: z
    .enum(['always', 'intermittent', 'unknown'], { error: "'always', 'intermittent' or 'unknown' is allowed" })
    .default('unknown'),
  steps_to_reproduce: listOfTexts.default([]),
  expected_behavior: text.optional(),
  actual_behavior: text.optional(),
  impact: text.optional(),
});
const featureMetadata = z.looseObject({
  type: z
    .enum(['new_feature', 'enhancement'], { error: "'new_feature' or 'enhancement' is allowed" })
    .default('enhancement'),
  estimated_effort: z
    .enum(['small', 'medium', 'large'], { error: "'small', 'medium' or 'large' is allowed" })
    .optional(),
  business_value: z.enum(['low', 'medium', 'high'], { error: "'low', 'medium' or 'high' is allowed" }).optional(),
  dependencies: listOfTexts.optional(),
});
const actionMetadata = z.looseObject({
  required_action: text,
  blocks: listOfTexts.optional(),
});

export const workItemSchema = z.discriminatedUnion(
  'item_type',
  [
    z.strictObject({ item_type: z.literal('bug'), ...shared, metadata: bugMetadata.prefault({}) }),
    z.strictObject({ item_type: z.literal('feature'), ...shared, metadata: featureMetadata.prefault({}) }),
    z.strictObject({ item_type: z.literal('human_action'), ...shared, metadata: actionMetadata }),
  ],
  { error: "'bug', 'feature' or 'human_action' is allowed" },
);

/** A work item to create. */
export type WorkItemInput = z.input<typeof workItemSchema>;
/** The same, checked and complete. */
export type WorkItem = z.output<typeof workItemSchema>;
