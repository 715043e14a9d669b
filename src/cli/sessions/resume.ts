import { sqliteJournal } from '../../journal/sqlite/sqlite.ts';
import { type Flags, UsageError } from '../command-line.ts';
import { demoAgentName, demoSession } from '../demo/demo.ts';
import { defaultAgentName, runAgent } from '../run.ts';
import { runInTerminal } from '../terminal/running.ts';
import { journalFile, sessionRow } from './journal.ts';

/** `pawl resume`: resumes a session with the agent that began it. */
export async function resumeCommand([sessionId, ...rest]: readonly string[], given: Flags): Promise<number> {
  if (sessionId === undefined) throw new UsageError('Missing session: pawl resume ID. pawl sessions lists them.');
  const flags = { ...given, journal: journalFile(given) };
  const journal = sqliteJournal(flags.journal);
  const { agent } = await sessionRow(journal, sessionId);
  await journal.close();
  if (agent === demoAgentName && flags.agent === undefined) return demoSession(rest, { sessionId }, flags);
  if (rest.length > 0) throw new UsageError(`Pass one session; got ${[sessionId, ...rest].join(' ')}.`);
  if (flags.agent === undefined && agent !== defaultAgentName) {
    throw new UsageError(`The session is one of the agent "${agent}": pass its file with --agent.`);
  }
  return runInTerminal(await runAgent(flags), { sessionId }, flags);
}
