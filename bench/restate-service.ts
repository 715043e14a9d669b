/** A process that serves the bench's agent to Restate: `node restate-service.ts PORT`. */
import * as restate from '@restatedev/restate-sdk';
import { tool } from 'ai';
import { z } from 'zod';
import { defineAgent } from '../src/index.ts';
import { restateAgents } from '../src/restate/restate-agents.ts';
import { rehearsalModel } from '../src/testing/index.ts';

const model = rehearsalModel(({ prompt }) => {
  const done = prompt.filter(({ role }) => role === 'tool').length >= 9;
  return {
    calls: [done ? { name: 'final_report', input: { content: 'done' } } : { name: 'echo', input: { text: 'hello' } }],
  };
});
model.requests.push = () => 0;
const echo = tool({ inputSchema: z.object({ text: z.string() }), execute: ({ text }) => text });
const agent = defineAgent({ name: 'bench', models: [model], tools: { echo }, limits: { maxTurns: 10 } });
await restate.serve({ port: Number(process.argv[2]), services: [restateAgents({ agents: [agent], logger: false })] });
process.stdout.write('begun\n');
