import { HttpAgent } from '@ag-ui/client';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import {
  type Agent,
  answerSession,
  defineAgent,
  type McpServerDefinition,
  type SessionEvent,
  serveMcp,
  sqliteJournal,
  startSession,
} from '../../../src/index.ts';
import { openaiHandler } from '../../../src/openai/index.ts';
import { rehearsalModel } from '../../../src/testing/index.ts';
import { agUiHandler, chatHandler, toAgent } from '../../../src/ui/index.ts';
import { runOver, TestBacklog } from '../../support/backlog.ts';
import { freshFile, until } from '../../support/journaled.ts';
import { newestServer } from '../../support/newest-mcp.ts';
import { counters, tokensOf } from '../../support/session.ts';

const logger = false as const;
const everything = {
  command: process.execPath,
  args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio'],
};

/** An agent that calls a tool of a server, which asks the user, and reports its answer. */
const asker = (server: object, tool: string, limits = {}): Agent =>
  defineAgent({
    name: 'asker',
    models: [
      rehearsalModel(({ prompt }) => {
        const last = prompt.findLast(({ role }) => role === 'tool');
        return last === undefined ? { calls: [{ name: `docs__${tool}` }] } : { text: JSON.stringify(last.content) };
      }),
    ],
    mcpServers: { docs: { ...server, handlers: { elicit: 'ask' } } as McpServerDefinition },
    finish: 'text',
    limits,
  });

type AskedEvent = Extract<SessionEvent, { type: 'tool.asked' }>;
const asking = (agent: Agent, more: object = {}) => {
  const events: SessionEvent[] = [];
  const onEvent = (event: SessionEvent) => void events.push(event);
  const session = startSession(agent, { prompt: 'Go.', logger, onEvent, ...more });
  const asked = async () => {
    await until(() => events.some(({ type }) => type === 'tool.asked'));
    return events.find((event): event is AskedEvent => event.type === 'tool.asked') as AskedEvent;
  };
  return { session, events, asked };
};

describe('what a server asks of the session’s user (`elicit: "ask"`)', () => {
  it('is an event, and an answer with the form goes on with the call, once', async () => {
    await using server = await newestServer();
    const { session, events, asked } = asking(asker({ url: server.url }, 'ask'));
    const { callId, message, schema } = await asked();
    expect([message, schema]).toEqual(['Your name?', { type: 'object', properties: { name: { type: 'string' } } }]);
    expect(session.answer('other', { name: 'Eve' })).toBe(false);
    expect(session.answer(callId, { name: 'Ada' })).toBe(true);
    expect(session.answer(callId, { name: 'Eve' })).toBe(false);
    const result = await session.result;
    expect(result.report.content).toContain('Ada');
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        toolCalls: { requested: 1, answered: 1, executed: 1, succeeded: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
        tools: {
          docs__ask: { calls: 1, failed: 0, bytes: expect.any(Number), durationMs: expect.any(Number) },
        },
      }),
    );
    expect(events.filter(({ type }) => type === 'tool.replied')).toMatchObject([{ accepted: true }]);
  });

  it('of the revision before, is asked of the call that runs', async () => {
    const { session, asked } = asking(asker(everything, 'trigger-elicitation-request'));
    const { callId, schema } = await asked();
    expect(schema).toMatchObject({ type: 'object' });
    session.answer(callId, 'I will not.', { isError: true });
    expect((await session.result).report.content).toMatch(/declin/i);
  });

  it('is declined once nobody has answered in time, and the time of the tool does not pass meanwhile', async () => {
    await using server = await newestServer();
    const limits = { toolTimeoutMs: 200, clientToolTimeoutMs: 900 };
    const { session, events } = asking(asker({ url: server.url }, 'ask', limits));
    expect((await session.result).report.content).toContain('decline');
    expect(events.filter(({ type }) => type === 'tool.replied')).toMatchObject([{ accepted: false }]);
  });

  it('is answered from another process, through the journal', async () => {
    await using server = await newestServer();
    const file = freshFile();
    const journal = sqliteJournal(file);
    const { session, asked } = asking(asker({ url: server.url }, 'ask'), { journal, sessionId: 's' });
    const { callId } = await asked();
    const other = sqliteJournal(file);
    await expect
      .poll(async () => (await other.list({ sessionId: 's' }))[0]?.waitingCalls)
      .toEqual([{ sessionId: 's', callId, awaits: 'answer' }]);
    expect(await answerSession(other, 's', callId, { name: 'Ada' })).toBe(true);
    expect((await session.result).report.content).toContain('Ada');
    await other.close();
    await journal.close();
  });

  it('interrupts a run of AG-UI, whose client fills in the form', async () => {
    await using server = await newestServer();
    const handle = agUiHandler(asker({ url: server.url }, 'ask'), { logger });
    const fetch = async (url: string | URL | Request, init?: RequestInit) => handle(new Request(url, init));
    const client = new HttpAgent({ url: 'http://x.test/', threadId: 't', fetch });
    client.addMessage({ id: 'u', role: 'user', content: 'Go.' });
    await client.runAgent();
    const [interrupt] = client.pendingInterrupts;
    expect(interrupt).toMatchObject({ reason: 'input_required', message: 'Your name?' });
    await client.runAgent({
      resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload: { name: 'Ada' } }],
    });
    expect(client.messages.at(-1)?.content).toContain('Ada');
  });
});

describe('where nobody can be asked, the question is declined at once', () => {
  const decline = /decline/;

  it('through OpenAI’s API', async () => {
    await using server = await newestServer();
    const handle = openaiHandler([asker({ url: server.url }, 'ask')], { logger });
    const body = JSON.stringify({ model: 'asker', messages: [{ role: 'user', content: 'Go.' }] });
    const answer = await handle(new Request('http://x.test/v1/chat/completions', { method: 'POST', body }));
    expect(await answer.text()).toMatch(decline);
  });

  it('as the AI SDK’s agent', async () => {
    await using server = await newestServer();
    const own = toAgent(asker({ url: server.url }, 'ask'), { logger });
    expect((await own.generate({ prompt: 'Go.' })).text).toMatch(decline);
  });

  it('on a page with useChat', async () => {
    await using server = await newestServer();
    const handle = chatHandler(asker({ url: server.url }, 'ask'), { logger });
    const messages = [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }];
    const body = JSON.stringify({ id: 'c', messages, trigger: 'submit-message' });
    const answer = await handle(new Request('http://x.test/api/chat', { method: 'POST', body }));
    expect(await answer.text()).toMatch(decline);
  });

  it('in a run over a backlog', async () => {
    await using server = await newestServer();
    const backlog = new TestBacklog();
    backlog.bug(1);
    const said: unknown[] = [];
    const process = asker({ url: server.url }, 'ask');
    const onSessionEvent = (event: SessionEvent) => void (event.type === 'tool.replied' && said.push(event.accepted));
    const { result } = await runOver(backlog, { process }, { onSessionEvent });
    expect(said).toEqual([false]);
    // Its report is no verdict.
    expect(result.failures).toMatchObject([{ id: 'BUG-001', message: expect.stringMatching(decline), requests: 2 }]);
  });

  it('as a call of an MCP server', async () => {
    await using server = await newestServer();
    await using served = await serveMcp(asker({ url: server.url }, 'ask'), { transport: { http: {} }, logger });
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new StreamableHTTPClientTransport(new URL(String(served.url))));
    const { content } = await client.callTool({ name: 'asker', arguments: { prompt: 'Go.' } });
    expect(JSON.stringify(content)).toMatch(decline);
    await client.close();
  });
});
