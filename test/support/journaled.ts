import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from 'ai';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, type Journal } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report } from './session.ts';

export const inputSchema = z.object({});

export const freshFile = () => join(mkdtempSync(join(tmpdir(), 'pawl-journal-')), 'pawl.db');

/** An agent that calls its tool `work` once, and reports. */
export function workingAgent(definition: Partial<AgentDefinition> = {}) {
  const worked: string[] = [];
  const work = tool({ inputSchema, execute: () => void worked.push('worked') });
  // It decides from the prompt alone, so that it continues correctly in another process.
  const model = rehearsalModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name: 'work', input: {} }] },
  );
  return { worked, model, agent: defineAgent({ name: 'working', models: [model], tools: { work }, ...definition }) };
}

/** Options of a session that logs nothing. */
export const quiet = (journal: Journal) => ({ journal, sessionId: 's', logger: false as const });

/** Waits without a timer. */
export async function until(is: () => boolean): Promise<void> {
  while (!is()) await new Promise(setImmediate);
}

/** Resolves once the journal holds the mark of an effect whose key ends so. */
export async function marked(journal: Journal, sessionId: string, end: string): Promise<void> {
  const isMarked = async () =>
    (await journal.read(sessionId)).some((entry) => entry.type === 'begun' && entry.key.endsWith(end));
  while (!(await isMarked())) await new Promise(setImmediate);
}

/** A tool that runs until the test lets it finish, and an agent that calls it once. */
export function holding(definition: Partial<AgentDefinition> = {}) {
  const held: { finish: (said: string) => void; runs: number } = { finish: () => {}, runs: 0 };
  const work = tool({
    inputSchema,
    execute: () => {
      held.runs += 1;
      return new Promise<string>((resolve) => {
        held.finish = resolve;
      });
    },
  });
  const { agent, model } = workingAgent({ tools: { work }, ...definition });
  return { held, work, model, agent };
}
