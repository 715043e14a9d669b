/** An agent as the AI SDK's own: whatever takes an `Agent` takes it, approvals included. */
import { type Agent, type ModelMessage, tool } from 'ai';
import { defineAgent } from 'pawl';
import { toAgent } from 'pawl/ui';
import { z } from 'zod';
import { call, model } from './model.ts';

const inputSchema = z.object({ file: z.string() });
const wipe = tool({ inputSchema, needsApproval: true, execute: ({ file }) => `${file} is gone` });
const replies = [{ text: 'Hm', finishReason: 'length' as const }, call('wipe', { file: 'a.txt' }), { text: 'Gone.' }];
const agent: Agent = toAgent(
  defineAgent({ name: 'cleaner', models: [model(...replies)], tools: { wipe }, finish: 'text' }),
  { logger: false },
);

const messages: ModelMessage[] = [{ role: 'user', content: 'Delete a.txt.' }];
const asked = await agent.generate({ messages });
const request = asked.content.find(({ type }) => type === 'tool-approval-request');
if (request?.type === 'tool-approval-request') {
  const { approvalId } = request;
  const content = [{ type: 'tool-approval-response' as const, approvalId, approved: true }];
  const { text, totalUsage } = await agent.generate({
    messages: [...messages, ...asked.response.messages, { role: 'tool', content }],
  });
  console.log(asked.providerMetadata?.pawl?.slugs, text, totalUsage.inputTokens);
}
// [ 'response_truncated' ] Gone. 10
