import { existsSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { defineAgent } from '../../agent/define-agent.ts';
import { messageOf } from '../../input/errors.ts';
import { rehearsalModel } from '../../testing/rehearsal-model.ts';
import { type McpPool, mcpPool } from '../../tools/mcp/pool.ts';
import { readingTools } from '../../workspace/file-tools.ts';
import type { Flags } from '../command-line.ts';
import { UsageError } from '../command-line.ts';
import { chosenModel } from '../models.ts';
import { packageFile } from '../package-root.ts';
import { withBound } from '../run.ts';
import { type Beginning, runInTerminal } from '../terminal/running.ts';
import { demoRehearsal } from './demo-rehearsal.ts';

const serverStartMs = 10_000;

/**
 * `pawl demo`: answers a question about a real directory with real tools. Without a key, a rule-based model stands in
 * and misbehaves at times, which shows the notices, the answers and the bound at work.
 */
export async function demoCommand(directories: readonly string[], flags: Flags): Promise<number> {
  const prompt = flags.question ?? 'What is in this directory, and what are its files about?';
  return demoSession(directories, { prompt }, flags);
}

export const demoAgentName = 'demo';

/** Runs or resumes a session of the demo's agent. */
export async function demoSession(
  [directory, ...extra]: readonly string[],
  beginning: Beginning,
  flags: Flags,
): Promise<number> {
  if (extra.length > 0) throw new UsageError(`Pass one directory; got ${[directory, ...extra].join(' ')}.`);
  const root = directory ?? packageFile('docs');
  if (!existsSync(root) || !statSync(root).isDirectory()) throw new UsageError(`${root} is not a directory.`);
  const model = flags.rehearsal ? null : await chosenModel(flags);
  await using servers = await fileServer(root);
  const agent = defineAgent(
    withBound(
      {
        name: demoAgentName,
        instructions:
          'You answer questions about a directory. Look at it with the tools, read what matters, and deliver the answer as the final report.',
        models: [model ?? rehearsalModel(demoRehearsal(), { provider: 'rehearsal', modelId: 'rules' })],
        ...(servers === null ? { tools: readingTools(root) } : { mcpServers: servers.servers }),
        report: { format: 'markdown' },
        limits: { maxTurns: 8, maxRetries: 4 },
        builtIns: { progressReport: true },
      },
      flags,
    ),
  );
  return await runInTerminal(agent, { ...beginning, words: directory === undefined ? [] : [directory] }, flags);
}

/**
 * Starts the official file system server in a separate process. Returns null if it is not installed or does not start;
 * the demo then uses its built-in tools.
 */
async function fileServer(root: string): Promise<McpPool | null> {
  const directory = realpathSync(root);
  let server: string;
  try {
    server = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-filesystem/dist/index.js');
  } catch {
    return null;
  }
  const allow = ['list_directory', 'read_text_file', 'search_files', 'directory_tree', 'get_file_info'];
  const pool = mcpPool({
    files: { command: process.execPath, args: [server, directory], cwd: directory, allow },
  });
  try {
    await pool.open(serverStartMs);
    return pool;
  } catch (error) {
    await pool.close();
    process.stderr.write(
      `The file system server did not start, so the demo uses its built-in tools: ${messageOf(error)}\n`,
    );
    return null;
  }
}
