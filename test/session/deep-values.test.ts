import { tool } from 'ai';
import { expect, it } from 'vitest';
import { defineAgent, type ReportFormat, runSession } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { inputSchema } from '../support/journaled.ts';
import { report } from '../support/session.ts';

const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}1${']'.repeat(depth)}`);
const fields = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

it.each([600, 1_500, 2_500, 3_000, 4_000, 7_000])(
  'C-1, S-4: a result that is nested %i levels deep is answered once',
  async (depth) => {
    for (const value of [nested(depth), fields(depth)]) {
      const look = tool({ inputSchema, execute: () => value });
      const models = [
        rehearsalModel(({ prompt }) =>
          prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name: 'look' }] },
        ),
      ];
      const agent = defineAgent({ name: 'deep', models, tools: { look }, secrets: ['secret-value-1'] });
      const result = await runSession(agent, { prompt: 'Go.', journal: new MemoryJournal(), logger: false });
      assertInvariants(result);
      expect(result).toMatchObject({
        success: true,
        counters: { toolCalls: { requested: 2, answered: 2, executed: 1 } },
      });
      expect(JSON.stringify(result.turns)).toContain('it is nested too deeply');
    }
  },
);

it('C-1: what a tool makes of its result for the model, and what a caller passes in, is bounded as well', async () => {
  const look = tool({
    inputSchema,
    execute: () => 'seen',
    toModelOutput: () => ({ type: 'json' as const, value: nested(3_000) }),
  });
  const models = [
    rehearsalModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name: 'look' }] },
    ),
  ];
  const agent = defineAgent({ name: 'deep', models, tools: { look }, secrets: ['secret-value-1'] });
  const call = { type: 'tool-call' as const, toolCallId: 'c', toolName: 'look', input: { a: fields(3_000) } };
  const output = { type: 'json' as const, value: nested(3_000) };
  const messages = [
    { role: 'user' as const, content: 'Go.' },
    { role: 'assistant' as const, content: [call] },
    { role: 'tool' as const, content: [{ type: 'tool-result' as const, toolCallId: 'c', toolName: 'look', output }] },
  ];
  for (const given of [{ prompt: 'Go.' }, { messages, prompt: 'Again.' }]) {
    const result = await runSession(agent, { ...given, logger: false });
    assertInvariants(result);
    expect(result).toMatchObject({ success: true, counters: { failedAttempts: 0 } });
  }
});

it('D-3: what a format accepts is plain JSON, in memory and in a journal', async () => {
  const format: ReportFormat = {
    name: 'odd',
    description: 'Anything.',
    contentSchema: {},
    validate: () => ({ valid: true, content: { count: 10n, at: new Date(0), many: new Set([1]) } as never }),
    parseText: (content) => ({ ok: true, content }),
  };
  const agent = defineAgent({ name: 'odd', models: [rehearsalModel(() => report())], report: { format } });
  for (const journal of [undefined, new MemoryJournal()]) {
    const result = await runSession(agent, { prompt: 'Go.', logger: false, ...(journal && { journal }) });
    expect(result.report.content).toEqual({ count: '10', at: '1970-01-01T00:00:00.000Z', many: [1] });
  }
});
