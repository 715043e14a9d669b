/** A process that serves tasks: `node tasks-server.ts JOURNAL FILE MODEL-URL PORT`; each letter that is sent is a line of FILE. */
import { appendFileSync } from 'node:fs';
import { tool } from 'ai';
import { z } from 'zod';
import { defineAgent, serveMcp, sqliteJournal } from '../../src/index.ts';
import { wireModel } from './session.ts';

const [journal = '', file = '', url = '', port = '0'] = process.argv.slice(2);
const send = tool({
  inputSchema: z.object({ to: z.string() }),
  needsApproval: true,
  execute: ({ to }) => {
    appendFileSync(file, `${to}\n`);
    return `sent to ${to}`;
  },
});
const locate = tool({ inputSchema: z.object({}) });
const models = [wireModel('openai', url)];
const agents = ['postman', 'scout', 'clerk'].map((name) =>
  defineAgent({ name, models, tools: { send, locate }, finish: 'text', limits: { maxTurns: 3, maxRetries: 1 } }),
);
const served = await serveMcp(agents, {
  transport: { http: { port: Number(port) } },
  logger: false,
  journal: sqliteJournal(journal, { leaseMs: 300 }),
  tasks: ['postman', 'scout'],
});
process.stdout.write(`${served.url}\n`);
process.once('SIGTERM', () => void served.close().then(() => process.exit(0)));
