import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { defineAgent, PawlError } from '../../../src/index.ts';
import { manualClock, rehearsalModel } from '../../../src/testing/index.ts';
import { counters, report, run } from '../../support/session.ts';

/** A server whose tool `slow` reports progress `times` times, and answers after that if it `answers`. */
function slowServer(step: () => Promise<void>, times: number, answers = true) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: 'slow', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: 'slow', inputSchema: { type: 'object' } }],
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendNotification }) => {
    const progressToken = params._meta?.progressToken ?? 0;
    for (let progress = 1; progress <= times; progress += 1) {
      await step();
      await sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total: times } });
    }
    if (!answers) await new Promise(() => {});
    return { content: [{ type: 'text', text: 'built' }] };
  });
  void server.connect(theirs);
  return ours;
}

/** Runs one call of the server's tool under a clock that each report of progress finds 800 ms later. */
async function called(
  times: number,
  {
    answers = true,
    limits = {},
    timeoutMs,
  }: { answers?: boolean; limits?: object; timeoutMs?: number | Record<string, number> } = {},
) {
  const clock = manualClock();
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const step = async () => {
    await turn();
    clock.advance(800);
    await turn();
  };
  const transport = slowServer(step, times, answers);
  const agent = defineAgent({
    name: 'waiting',
    models: [rehearsalModel([{ calls: [{ name: 'srv__slow', input: {} }] }, report()])],
    mcpServers: { srv: { transport, ...(timeoutMs !== undefined && { timeoutMs }) } },
    limits: { toolTimeoutMs: 1_000, ...limits },
  });
  const running = run({ agent, clock, alarms: 'manual' });
  if (!answers) {
    for (let count = 0; count < times + 30; count += 1) {
      await step();
    }
  }
  const { result } = await running;
  const slug = result.turns[0]?.attempts[0]?.calls[0]?.slug ?? null;
  expect(result.counters).toEqual(
    counters({
      ...{ turns: 2, attempts: 2, tokens: result.counters.tokens, costUsd: null, reports: { attempted: 1 } },
      toolCalls: {
        ...{ requested: 2, answered: 2, acknowledged: 1, executed: 1 },
        ...(slug === null ? { succeeded: 1 } : { failed: 1 }),
      },
    }),
  );
  return slug;
}

describe('C-1: a long call to an MCP server', () => {
  it('is not cut off while it reports progress', async () => {
    expect(await called(10)).toBeNull();
  });

  it('is cut off at `maxToolMs`, whatever it reports', async () => {
    expect(await called(10, { answers: false, limits: { maxToolMs: 3_000 } })).toBe('tool_timeout');
  });

  it('is cut off once it reports nothing for its timeout', async () => {
    expect(await called(2, { answers: false })).toBe('tool_timeout');
  });

  it.each([[5_000], [{ slow: 5_000 }]])('has the timeout of its server or its tool: %j', async (timeoutMs) => {
    expect(await called(0, { timeoutMs })).toBeNull();
  });

  it.each([0, 'soon', { slow: -1 }])('a timeout of %j is refused', (timeoutMs) => {
    const define = () =>
      defineAgent({
        name: 'odd',
        models: [rehearsalModel([])],
        mcpServers: { srv: { command: 'x', timeoutMs: timeoutMs as never } },
      });
    expect(define).toThrow(PawlError);
  });
});
