/** A session with a journal, for a process of its own: `journaled-run.ts FILE`. Prints how it ended. */
import { runSession, sqliteJournal } from '../../src/index.ts';
import { workingAgent } from './journaled.ts';

const [file = ''] = process.argv.slice(2);
const { agent, model, worked } = workingAgent({ instructions: 'much ado '.repeat(800) });
try {
  const journal = sqliteJournal(file, { leaseMs: 200 });
  const { status, slugs, failure } = await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
  const detail = failure?.detail ?? null;
  process.stdout.write(
    JSON.stringify({ status, slugs, detail, requests: model.requests.length, worked: worked.length }),
  );
} catch (error) {
  process.stdout.write(JSON.stringify({ status: 'refused', detail: String(error) }));
}
process.exit(0);
