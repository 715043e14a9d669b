/** A call that waits for a person, who decides over HTTP. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tool } from 'ai';
import { defineAgent, startSession } from 'pawl';
import { z } from 'zod';
import { call, model, report } from './model.ts';

const pay = tool({
  description: 'Pays an invoice.',
  inputSchema: z.object({ invoice: z.string() }),
  needsApproval: true,
  execute: ({ invoice }) => `${invoice} is paid`,
});
const agent = defineAgent({
  name: 'clerk',
  models: [model(call('pay', { invoice: 'A-7' }), report('Paid A-7.'))],
  tools: { pay },
});

const session = startSession(agent, { prompt: 'Pay invoice A-7.' });
const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://x');
  response.end(String(session.approve(searchParams.get('call') ?? '', { approved: true, reason: 'by Grace' })));
}).listen(0, '127.0.0.1');
await once(server, 'listening');

for await (const event of session.events) {
  if (event.type !== 'tool.approvalRequested') continue;
  const { port } = server.address() as AddressInfo;
  await fetch(`http://127.0.0.1:${port}/approve?call=${event.callId}`, { method: 'POST' });
}
server.close();
console.log((await session.result).report.content);
// Paid A-7.
