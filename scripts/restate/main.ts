/**
 * `npm run restate`: starts a Restate server of its own on loopback, registers the demo's agent with it, and runs a
 * session of it there.
 */
import * as restate from '@restatedev/restate-sdk';
import { demoRehearsal } from '../../src/cli/demo/demo-rehearsal.ts';
import { defineAgent } from '../../src/index.ts';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { readingTools } from '../../src/workspace/file-tools.ts';
import { freePort } from '../../test/support/free-port.ts';
import { restateBinary, startRestate } from '../../test/support/restate.ts';

const say = (text: string) => process.stdout.write(`${text}\n`);

if (restateBinary === null) throw new Error('there is no Restate server for this platform');
const agent = defineAgent({
  name: 'demo',
  instructions: 'You answer questions about a directory.',
  models: [rehearsalModel(demoRehearsal(), { provider: 'rehearsal', modelId: 'rules' })],
  tools: readingTools('docs'),
  report: { format: 'markdown' },
  limits: { maxTurns: 8, maxRetries: 4 },
  builtIns: { progressReport: true },
});
const server = await startRestate(restateBinary);
const port = await freePort();
const onEvent = ({ type }: { type: string }) => type !== 'model.delta' && say(`  ${type}`);
await restate.serve({ port, services: [restateAgents({ agents: [agent], onEvent })] });
await server.register(`http://127.0.0.1:${port}`);
say(`Restate takes sessions at ${server.ingress}/pawl/ID/run`);
const answer = await fetch(`${server.ingress}/pawl/demo-1/run`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ agent: 'demo', prompt: 'What is in this directory?' }),
});
const { status, report, counters } = JSON.parse(await answer.text());
say(`${status}, ${counters.requests} requests\n\n${report.content}`);
await server.stop();
process.exit(0);
