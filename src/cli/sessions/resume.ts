import { type Flags, UsageError } from '../command-line.ts';
import { demoAgentName, demoSession } from '../demo/demo.ts';
import { defaultAgentName, runAgent } from '../run.ts';
import { runInTerminal } from '../terminal/running.ts';
import { journalFile, sessionRow, withJournal } from './opened-journal.ts';

/** `pawl resume`: resumes a session with the agent that began it. */
export async function resumeCommand([id, ...rest]: readonly string[], given: Flags): Promise<number> {
  if (id === undefined) throw new UsageError('Missing session: pawl resume ID. pawl sessions lists them.');
  const flags = { ...given, journal: journalFile(given) };
  const { agent, sessionId } = await withJournal(flags, (journal) => sessionRow(journal, id));
  if (agent === demoAgentName && flags.agent === undefined) return demoSession(rest, { sessionId }, flags);
  if (rest.length > 0) throw new UsageError(`Pass one session; got ${[id, ...rest].join(' ')}.`);
  if (flags.agent === undefined && agent !== defaultAgentName) {
    throw new UsageError(`The session is one of the agent "${agent}": pass its file with --agent.`);
  }
  return runInTerminal(await runAgent(flags), { sessionId }, flags);
}
