import { serveMcp } from '../serve/serve-mcp.ts';
import { readAgentFile } from './agent-file.ts';
import type { Flags } from './command-line.ts';
import { exitCodes, UsageError } from './command-line.ts';
import { commandLogger } from './log.ts';
import { agentOf } from './run.ts';

/** `pawl serve`: serves an agent over MCP until the client disconnects or a signal ends it. */
export async function serveCommand(positionals: readonly string[], flags: Flags): Promise<number> {
  if (flags.mcp === undefined) throw new UsageError('Missing agent: pawl serve --mcp agent.md.');
  if (positionals.length > 0) throw new UsageError(`pawl serve takes no prompt; unexpected: ${positionals.join(' ')}.`);
  const agent = await agentOf(await readAgentFile(flags.mcp), flags);
  const served = await serveMcp(agent, {
    transport: flags.http === undefined ? 'stdio' : { http: { port: flags.http } },
    logger: commandLogger(flags),
  });
  if (served.url !== null) process.stderr.write(`Serving ${agent.name} at ${served.url}\n`);
  const end = () => void served.close();
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  await served.closed;
  return exitCodes.succeeded;
}
