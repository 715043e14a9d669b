import { existsSync, statSync } from 'node:fs';
import { defineAgent } from '../../agent/define-agent.ts';
import { rehearsalModel } from '../../testing/rehearsal-model.ts';
import { readingTools } from '../../workspace/file-tools.ts';
import type { Flags } from '../command-line.ts';
import { UsageError } from '../command-line.ts';
import { chosenModel } from '../models.ts';
import { packageFile } from '../package-root.ts';
import { withBound } from '../run.ts';
import { type Beginning, runInTerminal } from '../terminal/running.ts';
import { demoRehearsal } from './demo-rehearsal.ts';

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
  const agent = defineAgent(
    withBound(
      {
        name: demoAgentName,
        instructions:
          'You answer questions about a directory. Look at it with the tools, read what matters, and deliver the answer as the final report.',
        models: [model ?? rehearsalModel(demoRehearsal(), { provider: 'rehearsal', modelId: 'rules' })],
        tools: readingTools(root),
        report: { format: 'markdown' },
        limits: { maxTurns: 8, maxRetries: 4 },
        builtIns: { progressReport: true },
      },
      flags,
    ),
  );
  return await runInTerminal(agent, { ...beginning, words: directory === undefined ? [] : [directory] }, flags);
}
