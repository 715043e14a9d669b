import { tool } from 'ai';
import { beforeEach, describe, expect, it } from 'vitest';
import { type AgentDefinition, defineAgent, type Journal, resumeSession, startSession } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { inputSchema, until } from '../support/journaled.ts';
import { listed, ScriptedServer } from '../support/scripted-server.ts';
import { keptLog, report } from '../support/session.ts';

const secret = 'k3y-0123456789-abcdef';
const server = () => new ScriptedServer({ 'tools/list': { tools: [listed('look')] } });

/** A session that was suspended while its tool, or that of its sub-agent, ran. */
async function suspended(servers: Record<string, ScriptedServer>, isBelow = false): Promise<MemoryJournal> {
  const journal = new MemoryJournal();
  const { agent, runs } = agentWith(servers, isBelow);
  const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
  await until(() => runs.count > 0);
  await session.suspend({ graceMs: 0 });
  return journal;
}

function agentWith(servers: Record<string, () => ScriptedServer> | Record<string, ScriptedServer>, isBelow = false) {
  const runs = { count: 0 };
  const work = tool({
    inputSchema,
    execute: () => {
      runs.count += 1;
      return new Promise<string>(() => {});
    },
  });
  const working = (name: string, own: Partial<AgentDefinition> = {}) =>
    defineAgent({
      name,
      models: [
        rehearsalModel(({ prompt }) =>
          prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name: 'work', input: {} }] },
        ),
      ],
      tools: { work },
      ...own,
    });
  const mcpServers = Object.fromEntries(Object.entries(servers).map(([name, transport]) => [name, { transport }]));
  const ask = { calls: [{ name: 'helper', input: { prompt: 'Help.', reason: 'Long.' } }] };
  const above = rehearsalModel(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? report() : ask));
  const agent = isBelow
    ? defineAgent({ name: 'above', models: [above], agents: { helper: working('helping') }, mcpServers })
    : working('working', { mcpServers, secrets: [secret] });
  return { agent, runs };
}

describe('D-3: a session is resumed with the tools that it had', () => {
  let journal: MemoryJournal;
  beforeEach(async () => {
    journal = await suspended({ good: server(), bad: server() });
  });
  const options = (over: { signal?: AbortSignal } = {}, own: Journal = journal) => ({
    ...{ journal: own, sessionId: 's', logger: keptLog().logger },
    ...over,
  });

  it('or not at all: what could be opened is closed, and its lease is free', async () => {
    const good = server();
    const broken = () => {
      throw new Error(`no entry with ${secret}`);
    };
    const before = await journal.read('s');
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const timersBefore = timers();
    await expect(resumeSession(agentWith({ good: () => good, bad: broken }).agent, options())).rejects.toMatchObject({
      code: 'tools_unavailable',
      message: expect.stringMatching(
        /^The session s was not resumed, since tools could not be opened: .*no entry with \[redacted\]/,
      ),
    });
    expect([good.closed, await journal.read('s'), timers()]).toEqual([1, before, timersBefore]);
    const again = await resumeSession(agentWith({ good: server, bad: server }).agent, options());
    const result = await again.result;
    assertInvariants(result);
    expect([result.success, result.turns[0]?.attempts[0]?.calls[0]?.slug]).toEqual([true, 'interrupted']);
  });

  it('once each, and closed at its end', async () => {
    const [good, bad] = [server(), server()];
    const session = await resumeSession(agentWith({ good: () => good, bad: () => bad }).agent, options());
    assertInvariants(await session.result);
    expect(
      [good, bad].map((one) => [one.methods().filter((method) => method === 'initialize').length, one.closed]),
    ).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it('without any, if its signal is aborted: it ends', async () => {
    let opened = 0;
    const counted = () => {
      opened += 1;
      return server();
    };
    const { agent } = agentWith({ good: counted, bad: counted });
    const result = await (await resumeSession(agent, options({ signal: AbortSignal.abort('over') }))).result;
    assertInvariants(result);
    expect([result.status, opened]).toEqual(['aborted', 0]);
  });

  it('or waits for them no longer than until its signal aborts', async () => {
    const [good, silent] = [server(), new ScriptedServer({ 'tools/list': undefined })];
    const controller = new AbortController();
    const { agent } = agentWith({ good: () => good, bad: () => silent });
    const resumed = resumeSession(agent, options({ signal: controller.signal }));
    const refused = expect(resumed).rejects.toMatchObject({
      code: 'tools_unavailable',
      message: expect.stringMatching(/the MCP server bad is unavailable: over$/),
    });
    await until(() => silent.methods().includes('tools/list'));
    controller.abort('over');
    await refused;
    expect([good.closed, silent.closed]).toEqual([1, 1]);
  });
});

it('D-4: what was interrupted is named under the call of its sub-agent', async () => {
  const journal = await suspended({}, true);
  const session = await resumeSession(agentWith({}, true).agent, { journal, sessionId: 's', logger: false });
  const interrupted: (readonly string[])[] = [];
  for await (const event of session.events) {
    if (event.type === 'session.resumed') interrupted.push(event.interrupted);
  }
  assertInvariants(await session.result);
  const [call] = (await session.result).turns[0]?.attempts[0]?.calls ?? [];
  expect(interrupted).toEqual([[`${call?.callId}/turn-1/attempt-1/tool-0`]]);
});
