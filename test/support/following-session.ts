/**
 * A process with a session that waits for a task of a server: `node following-session.ts JOURNAL SERVER`. It says so once
 * that is written down.
 */
import { sqliteJournal, startSession } from '../../src/index.ts';
import { following } from './following.ts';

const [file = '', server = ''] = process.argv.slice(2);
const journal = sqliteJournal(file, { leaseMs: 300 });
startSession(following(server), { prompt: 'Write to Ada.', sessionId: 'waiting', journal, logger: false });
for (;;) {
  const entries = await journal.read('waiting');
  if (entries.some((entry) => entry.type === 'sighted' && entry.sighting.type === 'tool.followed')) break;
  await new Promise((resolve) => setTimeout(resolve, 20));
}
process.stdout.write('followed\n');
