import type { JsonObject } from '../../../machines/index.ts';
import { isRecord } from '../../platform/plain-json.ts';
import type { ApprovalInput } from '../../session/session.ts';

/** How the client's user is asked. */
export const approvalForm = ({ name, input }: { name: string; input: JsonObject }) => ({
  message: `The agent wants to run ${name} with ${JSON.stringify(input)}.`,
  requestedSchema: {
    type: 'object' as const,
    properties: { approve: { type: 'boolean' as const, title: 'Approve', description: 'Run this call?' } },
    required: ['approve'],
  },
});

/** Returns the decision that the answer of a client's user makes; any answer that does not approve denies. */
export function decisionIn(answer: unknown): Pick<ApprovalInput, 'approved' | 'reason'> {
  const { action, content }: { action?: unknown; content?: unknown } = Object(answer);
  if (action === 'accept' && isRecord(content) && content.approve === true) return { approved: true };
  return { approved: false, reason: action === 'cancel' ? 'Dismissed by the user.' : 'Declined by the user.' };
}
