import { expect, it } from 'vitest';
import { defineAgent, mcpPool, runSession } from '../../../src/index.ts';
import { rehearsalModel } from '../../../src/testing/index.ts';
import { expectForgotten } from '../../support/in-memory.ts';
import { listed, ScriptedServer } from '../../support/scripted-server.ts';
import { report } from '../../support/session.ts';

/** Runs a session that calls a tool of the pool, and returns a reference to its result. */
async function ended(pool: ReturnType<typeof mcpPool>): Promise<WeakRef<object>> {
  const models = [rehearsalModel([{ calls: [{ name: 's__echo', input: {} }] }, report()])];
  const agent = defineAgent({ name: 'a', models, mcpServers: pool.servers });
  const result = await runSession(agent, { prompt: 'Go.', logger: false });
  expect(result.counters.toolCalls.succeeded).toBe(1);
  return new WeakRef(result.turns);
}

it('D-3: a session that called a tool of a shared server is not kept in memory when it is over', async () => {
  const answers = {
    'tools/list': { tools: [listed('echo')] },
    'tools/call': { content: [{ type: 'text', text: 'So.' }] },
  };
  const pool = mcpPool({ s: { transport: () => new ScriptedServer(answers) } });
  const sessions: WeakRef<object>[] = [];
  for (let count = 0; count < 8; count += 1) sessions.push(await ended(pool));
  await expectForgotten(sessions);
  await pool.close();
});
