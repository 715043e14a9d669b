/** A process that serves the stepping agent to Restate: `node restate-service.ts PORT FOLDER URL`. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import * as restate from '@restatedev/restate-sdk';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { steppingAgent } from './every-step.ts';

const [port = '', folder = '', url = ''] = process.argv.slice(2);
const log = (level: string) => (line: object) =>
  appendFileSync(join(folder, 'log'), `${JSON.stringify({ level, ...line })}\n`);

await restate.serve({
  port: Number(port),
  services: [
    restateAgents({
      agents: [steppingAgent(url, join(folder, 'effects'))],
      logger: { debug: () => {}, info: () => {}, warn: log('warn'), error: log('error') },
      onEvent: (event) => {
        if (event.type === 'tool.approvalRequested') {
          appendFileSync(
            join(folder, 'asked'),
            `${JSON.stringify({ sessionId: event.sessionId, callId: event.callId })}\n`,
          );
        }
      },
    }),
  ],
});
process.stdout.write('begun\n');
