import { z } from 'zod';
import { priorities } from '../../../machines/index.ts';
import { flag, nonBlank, oneOf, text as words } from '../../input/shapes.ts';

const text = nonBlank;
const titleRule = 'one line of 1 to 200 characters';
const title = words.refine((value) => value.trim() !== '' && value.length <= 200 && !/\p{Cc}/u.test(value), {
  error: titleRule,
});
const component = text.refine((value) => !/\p{Cc}/u.test(value), { error: 'one line' });
const listOfTexts = z.array(text, { error: 'an array of strings' });

const evidence = z.strictObject({
  type: oneOf('file', 'log', 'output', 'link'),
  location: text,
  description: text,
});

const shared = {
  title,
  component,
  priority: oneOf(...priorities).default('P2'),
  evidence: z.array(evidence, { error: 'an array of { type, location, description }' }).default([]),
  description: text,
  /** Whether the item is committed to git; default: false. */
  auto_commit: flag.default(false),
  /** Branch to commit to; default: the current one. In the working tree, the files then stay uncommitted. */
  branch_name: text.optional(),
  /** If a similar item is open, the result lists it. `create` still writes the new item; `refuse` writes nothing. */
  on_duplicate: oneOf('create', 'refuse').default('create'),
};

/** Other fields are kept unchanged. */
const bugMetadata = z.looseObject({
  severity: oneOf('critical', 'high', 'medium', 'low').default('medium'),
  reproducibility: oneOf('always', 'sometimes', 'intermittent', 'rarely', 'unknown').default('unknown'),
  steps_to_reproduce: listOfTexts.default([]),
  expected_behavior: text.optional(),
  actual_behavior: text.optional(),
  impact: text.optional(),
});
const featureMetadata = z.looseObject({
  type: oneOf('new_feature', 'enhancement', 'improvement').default('enhancement'),
  estimated_effort: oneOf('xs', 'small', 'medium', 'large', 'xl').optional(),
  business_value: oneOf('low', 'medium', 'high').optional(),
  dependencies: listOfTexts.optional(),
});
const actionMetadata = z.looseObject({
  /** What a person has to do; default: the description. */
  required_action: text.optional(),
  /** Why only a person can do it. */
  reason: text.optional(),
  urgency: oneOf('critical', 'high', 'medium', 'low').optional(),
  /** Items that wait for it; `blocks` is another name. */
  blocking_items: listOfTexts.optional(),
  blocks: listOfTexts.optional(),
});

export const workItemSchema = z.discriminatedUnion(
  'item_type',
  [
    z.strictObject({ item_type: z.literal('bug'), ...shared, metadata: bugMetadata.prefault({}) }),
    z.strictObject({ item_type: z.literal('feature'), ...shared, metadata: featureMetadata.prefault({}) }),
    z.strictObject({ item_type: z.literal('human_action'), ...shared, metadata: actionMetadata.prefault({}) }),
  ],
  {
    error: ({ input }) =>
      typeof input === 'object' && input !== null
        ? "one of 'bug', 'feature', 'human_action'"
        : 'an object with `item_type` and `title`',
  },
);

/** A work item to create. */
export type WorkItemInput = z.input<typeof workItemSchema>;
/** A validated work item, with defaults filled in. */
export type WorkItem = z.output<typeof workItemSchema>;
