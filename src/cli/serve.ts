import { stderrLogger } from '../observe/log.ts';
import { serveMcp } from '../serve/serve-mcp.ts';
import { readAgentFile } from './agent-file.ts';
import { exitCodes, type Flags, UsageError } from './exit.ts';
import { agentOf } from './run.ts';

/** `pawl serve`: an agent as an MCP server, until its client is gone or it is ended at the keyboard. */
export async function serveCommand(positionals: readonly string[], flags: Flags): Promise<number> {
  if (flags.mcp === undefined) throw new UsageError('An agent is needed: pawl serve --mcp agent.md.');
  if (positionals.length > 0)
    throw new UsageError(`${positionals.join(' ')} is too much: a client brings the prompts.`);
  const agent = await agentOf(await readAgentFile(flags.mcp), flags);
  const served = await serveMcp(agent, {
    transport: flags.http === undefined ? 'stdio' : { http: { port: flags.http } },
    logger: stderrLogger(flags.logLevel ?? 'warn'),
  });
  if (served.url !== null) process.stderr.write(`${agent.name} is served at ${served.url}\n`);
  const end = () => void served.close();
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  await served.closed;
  return exitCodes.succeeded;
}
