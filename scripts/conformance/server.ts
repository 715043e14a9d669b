/**
 * The server that the MCP conformance suite asks: an agent whose one tool needs approval, with its address on the standard
 * output. Its tool has the name that the suite calls for a simple text.
 */
import { tool } from 'ai';
import { defineAgent, serveMcp } from 'pawl';
import { rehearsalModel } from 'pawl/testing';
import { z } from 'zod';

const send = tool({
  description: 'Sends a message.',
  inputSchema: z.object({ to: z.string() }),
  needsApproval: true,
  execute: ({ to }) => `sent to ${to}`,
});
const model = rehearsalModel(({ prompt }) =>
  prompt.at(-1)?.role === 'user'
    ? { calls: [{ name: 'send', input: { to: 'ann' } }] }
    : { calls: [{ name: 'final_report', input: { content: 'Done.' } }] },
);
const agent = defineAgent({ name: 'helper', models: [model], tools: { send }, report: { format: 'text' } });
const served = await serveMcp(agent, { transport: { http: { port: Number(process.argv[2] ?? 0) } }, logger: false });
process.stdout.write(`${served.url}\n`);
process.once('SIGTERM', () => void served.close().then(() => process.exit(0)));
