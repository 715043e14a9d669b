/** A process that serves the stepping agent to Restate: `node restate-service.ts PORT FOLDER URL`. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import * as restate from '@restatedev/restate-sdk';
import { tool } from 'ai';
import { z } from 'zod';
import { defineAgent } from '../../src/index.ts';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { clientTool, steppingAgent } from './every-step.ts';

const [port = '', folder = '', url = ''] = process.argv.slice(2);
const stepping = steppingAgent(url, join(folder, 'effects'));
const { tools } = stepping.definition;
const agent = defineAgent({
  ...stepping.definition,
  tools: { ...tools, [clientTool]: tool({ inputSchema: z.object({}) }) },
});
const log = (level: string) => (line: object) =>
  appendFileSync(join(folder, 'log'), `${JSON.stringify({ level, ...line })}\n`);

await restate.serve({
  port: Number(port),
  services: [
    restateAgents({
      agents: [agent],
      logger: { debug: () => {}, info: () => {}, warn: log('warn'), error: log('error') },
      onEvent: (event) => {
        if (event.type !== 'tool.approvalRequested' && event.type !== 'tool.handedOut') return;
        const { type, sessionId, callId } = event;
        appendFileSync(join(folder, 'asked'), `${JSON.stringify({ type, sessionId, callId })}\n`);
      },
    }),
  ],
});
process.stdout.write('begun\n');
