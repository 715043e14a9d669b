/**
 * Writes journals of this release, which every later one reads, replays and resumes (test/journal/releases.test.ts):
 * `node scripts/release/journals.ts`. Those of a release that is out are never written again.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, exportSession, sqliteJournal, startSession } from '../../src/index.ts';
import { packageVersion } from '../../src/platform/version.ts';
import { lastingAgent } from '../../test/support/lasting-agent.ts';

const folder = join('test/journal/releases', packageVersion);
mkdirSync(folder, { recursive: true });
for (const left of ['asking', 'ended'] as const) {
  const journal = sqliteJournal(':memory:');
  const { agent } = lastingAgent({ defineAgent });
  const session = startSession(agent, { prompt: 'Go.', journal, sessionId: left, logger: false });
  for await (const event of session.events) {
    if (event.type !== 'tool.approvalRequested') continue;
    if (left === 'asking') break;
    session.approve(event.callId, { approved: true });
  }
  if (left === 'asking') await session.suspend();
  else await session.result;
  writeFileSync(join(folder, `${left}.jsonl`), await exportSession(journal, left));
  await journal.close();
}
