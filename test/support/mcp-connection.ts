import { systemClock } from '../../src/host/clock.ts';
import type { McpServerConfig } from '../../src/tools/mcp/config.ts';
import { McpConnection } from '../../src/tools/mcp/connection.ts';
import type { ScriptedServer } from './scripted-server.ts';

type Options = { clock?: typeof systemClock; handlers?: McpServerConfig['handlers'] };

/** A connection to these servers, one after the other, and what it told its listener. */
export function connectionTo(servers: ScriptedServer[], { clock = systemClock, handlers }: Options = {}) {
  const told: string[] = [];
  let made = 0;
  const transport = () => {
    const server = servers[made];
    made += 1;
    if (server === undefined) throw new Error('there is no server left');
    return server;
  };
  const connection = new McpConnection('docs', { transport, ...(handlers && { handlers }) }, clock);
  const stop = connection.listen({
    onTools: () => told.push(`tools ${connection.tools.map(({ name }) => name)}`),
    onLost: (message) => told.push(`lost: ${message}`),
    onDebug: (line) => told.push(`debug: ${line}`),
    onLeftOut: (reason) => told.push(reason.slice(0, 14)),
  });
  return { connection, told, stop };
}

export const never = new AbortController().signal;

/** A running call, and the progress that it was told. */
export function runOf(signal: AbortSignal = never) {
  const progress: unknown[] = [];
  const told = (output: unknown, most: number) => progress.push([output, most]);
  const none = { takeTask: () => null, follow: async () => {}, noteAlive: () => {} };
  return { progress, run: Object({ signal, progress: told, ...none }) };
}
