import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from 'ai';
import { z } from 'zod';
import { type AgentDefinition, defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report } from './session.ts';

export const inputSchema = z.object({});

export const freshFile = () => join(mkdtempSync(join(tmpdir(), 'pawl-journal-')), 'pawl.db');

/** An agent that calls its tool `work` once, and reports. */
export function workingAgent(definition: Partial<AgentDefinition> = {}) {
  const worked: string[] = [];
  const work = tool({ inputSchema, execute: () => void worked.push('worked') });
  // It goes by what it is told, so that it does not begin anew in another process.
  const model = rehearsalModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name: 'work', input: {} }] },
  );
  return { worked, model, agent: defineAgent({ name: 'working', models: [model], tools: { work }, ...definition }) };
}
