import { serveOpenai } from '../openai/serve-openai.ts';
import { serveMcp } from '../serve/serve-mcp.ts';
import { readAgentFile } from './agent-file.ts';
import type { Flags } from './command-line.ts';
import { exitCodes, UsageError } from './command-line.ts';
import { commandLogger } from './log.ts';
import { agentOf } from './run.ts';
import { openJournal } from './sessions/opened-journal.ts';

/** `pawl serve`: serves an agent over MCP or as a model until the client disconnects or a signal ends it. */
export async function serveCommand(positionals: readonly string[], flags: Flags): Promise<number> {
  const { mcp, openai, http } = flags;
  const file = mcp ?? openai;
  if (file === undefined || (mcp !== undefined && openai !== undefined))
    throw new UsageError('Name one agent: pawl serve --mcp agent.md, or pawl serve --openai agent.md.');
  if (positionals.length > 0) throw new UsageError(`pawl serve takes no prompt; unexpected: ${positionals.join(' ')}.`);
  const agent = await agentOf(await readAgentFile(file), flags, file);
  const logger = commandLogger(flags, { isShown: false });
  const place = http === undefined ? {} : { port: http };
  const kept = flags.journal === undefined ? {} : { journal: await openJournal(flags.journal) };
  const served =
    mcp === undefined
      ? await serveOpenai([agent], { http: place, logger, ...kept })
      : await serveMcp(agent, {
          ...{ transport: http === undefined ? 'stdio' : { http: place }, logger },
          ...(flags.journal !== undefined && { ...kept, tasks: true }),
        });
  const closed = closedBySignals(served);
  // Only now: whoever reads it may send a signal at once.
  if (served.url !== null) process.stderr.write(`Serving ${agent.name} at ${served.url}\n`);
  await closed;
  return exitCodes.succeeded;
}

/** Resolves when what is served is closed, at the latest by a signal. */
export function closedBySignals(served: { close(): unknown; readonly closed: Promise<void> }): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void served.close());
  return served.closed;
}
