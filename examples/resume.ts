/** A session that outlives its process: let go of while it waits for a person, and resumed. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from 'ai';
import { approveSession, defineAgent, resumeSession, sqliteJournal, startSession } from 'pawl';
import { z } from 'zod';
import { call, model, report } from './model.ts';

const journal = sqliteJournal(join(mkdtempSync(join(tmpdir(), 'pawl-')), 'pawl.db'));
const send = tool({
  inputSchema: z.object({ to: z.string() }),
  needsApproval: true,
  execute: ({ to }) => `sent to ${to}`,
});
const agent = defineAgent({
  name: 'secretary',
  models: [model(call('send', { to: 'ada' }), report('Sent.'))],
  tools: { send },
});

const first = startSession(agent, { prompt: 'Send it to Ada.', journal });
let asked = '';
for await (const event of first.events) {
  if (event.type !== 'tool.approvalRequested') continue;
  asked = event.callId;
  break;
}
await first.suspend(); // or kill -9

await approveSession(journal, first.sessionId, asked, { approved: true });
const again = await resumeSession(agent, { journal, sessionId: first.sessionId });
const { status, counters } = await again.result;
console.log(status, counters.requests);
await journal.close();
// succeeded 2
