import { type AgentContext, type ClientCapabilities, methods } from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { lazily } from '../platform/lazily.ts';
import type { LocalTool } from '../tools/local.ts';

const path = z.string().min(1).describe('An absolute path.');
const shapes = lazily(() => ({
  read: z.object({ path, line: z.int().min(1).optional(), limit: z.int().min(1).optional() }),
  write: z.object({ path, content: z.string() }),
  run: z.object({ command: z.string().min(1), args: z.array(z.string()).optional(), cwd: z.string().optional() }),
}));

/** The most of a command's output that is kept, in bytes. */
const outputByteLimit = 65_536;

/** What the client offers, as tools. What changes something asks first. */
export function clientTools(
  sessionId: string,
  client: AgentContext,
  { fs, terminal }: ClientCapabilities,
): Record<string, LocalTool> {
  const { read, write, run } = shapes();
  type Run = { abortSignal?: AbortSignal | undefined };
  const read_text_file = {
    description: 'Reads a text file as the editor has it, changes that are not saved included.',
    inputSchema: read,
    execute: async (input: z.output<typeof read>) =>
      (await client.request(methods.client.fs.readTextFile, { sessionId, ...(input as { path: string }) })).content,
  };
  const write_text_file = {
    description: 'Writes a text file through the editor.',
    inputSchema: write,
    needsApproval: true,
    execute: async (input: z.output<typeof write>) => {
      await client.request(methods.client.fs.writeTextFile, { sessionId, ...input });
      return 'The file was written.';
    },
  };
  const run_command = {
    description: 'Runs a command in a terminal of the editor, and returns its output when it has ended.',
    inputSchema: run,
    needsApproval: true,
    execute: async ({ command, args = [], cwd }: z.output<typeof run>, { abortSignal }: Run = {}) => {
      const own = await client.createTerminal({
        sessionId,
        command,
        args,
        outputByteLimit,
        ...(cwd !== undefined && { cwd }),
      });
      const kill = () => void own.kill().catch(() => undefined);
      abortSignal?.addEventListener('abort', kill, { once: true });
      if (abortSignal?.aborted === true) kill();
      try {
        const { exitCode, signal } = await own.waitForExit();
        const { output, truncated } = await own.currentOutput();
        return { exitCode, signal, output, truncated };
      } finally {
        abortSignal?.removeEventListener('abort', kill);
        await own.release().catch(() => undefined);
      }
    },
  };
  return {
    ...(fs?.readTextFile === true && { read_text_file }),
    ...(fs?.writeTextFile === true && { write_text_file }),
    ...(terminal === true && { run_command }),
  } as unknown as Record<string, LocalTool>;
}
