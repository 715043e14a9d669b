import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  resumeSession,
  runSession,
  type SessionOverrides,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { report } from '../support/session.ts';

const inputSchema = z.object({});
const quick = tool({ inputSchema, execute: () => 'quick' });
const logger = false as const;
const everything = {
  command: process.execPath,
  args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
};

function parts() {
  const [one, two] = ['one', 'two'].map((modelId) => rehearsalModel([{}], { provider: 'rehearsal', modelId }));
  if (one === undefined || two === undefined) throw new Error('two models');
  const child = defineAgent({ name: 'child', models: [rehearsalModel([report()])] });
  const agent = defineAgent({
    name: 'wide',
    models: [one, two],
    instructions: 'You may do all.',
    tools: { quick, slow: quick },
    agents: { child },
    builtIns: { progressReport: true },
    limits: { maxTurns: 4, maxRetries: 3, contextWindow: 100_000 },
  });
  return { agent, one, two };
}

describe('B-1: what a session sets for itself', () => {
  it('narrows the tools, the models and the limits, and the bound is that of the session', async () => {
    const { agent, one, two } = parts();
    const result = await runSession(agent, {
      prompt: 'Go.',
      instructions: 'You may do little.',
      tools: ['quick'],
      models: ['rehearsal:two'],
      limits: { maxTurns: 2, maxRetries: 2 },
      logger,
    });
    expect(result).toMatchObject({ status: 'failed', slugs: ['retries_exhausted', 'empty_response'] });
    expect(result.counters).toMatchObject({ turns: 1, attempts: 2, requests: 2, failedAttempts: 2 });
    expect(one.requests).toHaveLength(0);
    expect(two.requests.map(({ tools }) => tools)).toEqual(
      Array.from({ length: 2 }, () => ['quick', 'final_report', 'progress_report']),
    );
    expect(two.requests[0]?.prompt[0]).toMatchObject({ role: 'system', content: 'You may do little.' });
    // The agent stays as it was.
    const whole = startSession(agent, { prompt: 'Go.', logger });
    await whole.result;
    expect(one.requests[0]?.tools).toEqual(['quick', 'slow', 'final_report', 'progress_report', 'child']);
    expect(whole.counters).toMatchObject({ turns: 1, attempts: 3, requests: 3 });
  });

  it('a sub-agent may be kept or left out, and a server whose tools are not named is not opened', async () => {
    const model = rehearsalModel([report()]);
    const { agent: child } = parts();
    const agent = defineAgent({
      name: 'served',
      models: [model],
      tools: { quick },
      agents: { child },
      mcpServers: { missing: { command: 'no-such-program' } },
    });
    expect((await runSession(agent, { prompt: 'Go.', logger })).slugs).toEqual(['tools_unavailable']);
    expect((await runSession(agent, { prompt: 'Go.', tools: ['child'], logger })).success).toBe(true);
    expect(model.requests.map(({ tools }) => tools)).toEqual([['final_report', 'child']]);
    const named = await runSession(agent, { prompt: 'Go.', tools: ['missing__look'], logger });
    expect(named.slugs).toEqual(['tools_unavailable']);
  });

  it('of an MCP server, only the named tools are shown', async () => {
    const model = rehearsalModel([report()]);
    const agent = defineAgent({ name: 'mcp', models: [model], mcpServers: { everything } });
    await runSession(agent, { prompt: 'Go.', tools: ['everything__echo'], logger });
    expect(model.requests[0]?.tools).toEqual(['final_report', 'everything__echo']);
  });

  it('D-3: a resumed session keeps it', async () => {
    const { agent, two } = parts();
    const journal = sqliteJournal(freshFile());
    const options: SessionOverrides = { models: ['rehearsal:two'], limits: { maxRetries: 1 }, tools: [] };
    const session = startSession(agent, { prompt: 'Go.', journal, logger, ...options });
    await session.suspend();
    const again = await resumeSession(agent, { journal, sessionId: session.sessionId, logger });
    const result = await again.result;
    expect(result.slugs[0]).toBe('retries_exhausted');
    expect(result.counters).toMatchObject({ turns: 1, attempts: 1, requests: 1 });
    expect(two.requests.map(({ tools }) => tools)).toEqual([['final_report', 'progress_report']]);
    await journal.close();
  });

  const wrong: [SessionOverrides, string][] = [
    [{ limits: { maxTurns: 5 } }, "`limits.maxTurns` must be at most the agent's, 4; got 5."],
    [{ limits: { contextWindow: null } }, "`limits.contextWindow` must be at most the agent's, 100000; got null."],
    [{ limits: { maxTurns: 0 } }, '`limits.maxTurns` must be an integer of at least 1; got 0.'],
    [{ limits: { turns: 1 } as never }, 'Unknown option `limits.turns`.'],
    [{ models: ['openai:gpt-5'] }, "`models[0]` must be one of the agent's models (rehearsal:one, rehearsal:two)"],
    [{ models: [] }, '`models` must be at least one target'],
    [{ tools: ['fast'] }, '`tools` must be names of the agent\'s tools (quick, slow, child); got "fast".'],
    [{ tools: ['final_report'] }, "`tools` must be names of the agent's tools"],
    [{ instructions: 5 as never }, '`instructions` must be a string; got 5.'],
  ];
  it.each(wrong)('%j is refused, and nothing runs', (overrides, message) => {
    const { agent, one } = parts();
    expect(() => startSession(agent, { prompt: 'Go.', logger, ...overrides })).toThrow(message);
    expect(one.requests).toHaveLength(0);
  });
});
