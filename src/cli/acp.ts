import { withPeer } from '../input/peer.ts';
import { readAgentFile } from './agent-file.ts';
import { exitCodes, type Flags, UsageError } from './command-line.ts';
import { commandLogger } from './log.ts';
import { agentOf } from './run.ts';
import { closedBySignals } from './serve.ts';
import { openJournal } from './sessions/opened-journal.ts';

/** `pawl acp`: serves an agent to the editor that started this process, over its standard streams. */
export async function acpCommand(positionals: readonly string[], flags: Flags): Promise<number> {
  if (positionals.length > 0) throw new UsageError(`pawl acp takes no prompt; unexpected: ${positionals.join(' ')}.`);
  if (flags.agent === undefined) throw new UsageError('Name an agent: pawl acp --agent agent.md.');
  const agent = await agentOf(await readAgentFile(flags.agent), flags, flags.agent);
  const journal = flags.journal === undefined ? {} : { journal: await openJournal(flags.journal) };
  const { serveAcp } = await withPeer('@agentclientprotocol/sdk', () => import('../acp/serve-acp.ts'));
  await closedBySignals(serveAcp(agent, { ...journal, logger: commandLogger(flags, { isShown: false }) }));
  return exitCodes.succeeded;
}
