import { Client, type InputRequiredResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defineAgent, type SessionEvent, serveMcp } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { until } from '../support/journaled.ts';
import { report } from '../support/session.ts';

type Elicited = { message: string };

/** An agent whose tool needs approval, served over HTTP, and a client of revision 2026-07-28. */
async function serving({ answer, calls = 1 }: { answer?: (asked: Elicited) => object; calls?: number } = {}) {
  const sent: string[] = [];
  const send = Object.assign((input: { to?: string }) => `sent ${sent.push(String(input.to))}`, {
    needsApproval: true,
  });
  const tools = {
    send: {
      description: 'Sends.',
      inputSchema: { type: 'object' as const, properties: { to: { type: 'string' as const } } },
      needsApproval: true,
      execute: send,
    },
  };
  const asking = Array.from({ length: calls }, (_, at) => ({
    calls: [{ name: 'send', input: { to: `ann ${at + 1}` } }],
  }));
  const agent = defineAgent({ name: 'helper', models: [rehearsalModel([...asking, report()])], tools: tools as never });
  const events: SessionEvent[] = [];
  const onEvent = (event: SessionEvent) => void events.push(event);
  const served = await serveMcp(agent, { transport: { http: {} }, logger: false, onEvent });
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  if (answer !== undefined) client.setRequestHandler('elicitation/create', ({ params }) => answer(params) as never);
  await client.connect(new StreamableHTTPClientTransport(new URL(String(served.url))));
  onTestFinished(async () => {
    await client.close();
    await served.close();
  });
  const types = () => events.map(({ type }) => type);
  const call = (options: object = {}) => client.callTool({ name: 'helper', arguments: { prompt: 'Send.' } }, options);
  return { client, call, sent, events, types, served };
}

const textOf = ({ content }: { content: readonly object[] }) => (content[0] as { text?: string } | undefined)?.text;

describe('a client of revision 2026-07-28', () => {
  it('finds the agent without a session, and may keep the list of tools', async () => {
    const { client } = await serving();
    expect(client.getProtocolEra()).toBe('modern');
    const listed = await client.listTools();
    expect(listed).toMatchObject({ ttlMs: 300_000, cacheScope: 'public' });
    expect(listed.tools.map(({ name }) => name)).toEqual(['helper']);
  });

  it('C-1: gets the questions to its user as a result, and the call goes on with the answers', async () => {
    const asked: string[] = [];
    const answer = ({ message }: Elicited) => {
      asked.push(message);
      return { action: 'accept', content: { approve: true } };
    };
    const { call, sent, types } = await serving({ answer, calls: 2 });
    const told: (string | undefined)[] = [];
    const onprogress = ({ message }: { message?: string }) => void told.push(message);
    expect(textOf(await call({ onprogress }))).toBe('All done.');
    // Each request of the call hears of what happens during it.
    expect(told).toEqual(expect.arrayContaining(['turn 1, attempt 1', 'turn 3, attempt 1', 'send: done']));
    expect([asked.length, sent]).toEqual([2, ['ann 1', 'ann 2']]);
    expect(asked[0]).toBe('The agent wants to run send with {"to":"ann 1"}.');
    expect(types().filter((type) => type === 'session.started')).toHaveLength(1);
  });

  it('C-1: an answer that does not approve denies, and nothing runs', async () => {
    const { call, sent, events } = await serving({ answer: () => ({ action: 'decline' }) });
    expect(textOf(await call())).toBe('All done.');
    expect(sent).toEqual([]);
    expect(events.find(({ type }) => type === 'tool.answered')).toMatchObject({ slug: 'tool_denied' });
  });

  it('C-1: a client that cannot ask is told so by the denial, at once', async () => {
    const { call, sent, events } = await serving();
    expect(textOf(await call())).toBe('All done.');
    expect(sent).toEqual([]);
    expect(JSON.stringify(events)).toContain('cannot ask a person for approval');
  });

  it('is asked again for an answer that is lacking, and goes on with no call but its own', async () => {
    const { client, sent } = await serving({ answer: () => ({ action: 'accept', content: { approve: true } }) });
    const ask = (more: object = {}) =>
      client.request(
        { method: 'tools/call', params: { name: 'helper', arguments: { prompt: 'Send.' }, ...more } },
        { allowInputRequired: true },
      ) as Promise<unknown> as Promise<InputRequiredResult & { content: object[] }>;
    const first = await ask();
    expect(first.resultType).toBe('input_required');
    const { requestState, inputRequests = {} } = first;
    const again = await ask({ requestState, inputResponses: {} });
    expect(again).toMatchObject({ inputRequests, requestState });
    await expect(ask({ requestState: `${requestState}x`, inputResponses: {} })).rejects.toMatchObject({
      code: -32_602,
    });
    const [id = ''] = Object.keys(inputRequests);
    const last = await ask({
      requestState,
      inputResponses: { [id]: { action: 'accept', content: { approve: true } } },
    });
    expect([textOf(last), sent]).toEqual(['All done.', ['ann 1']]);
    await expect(ask({ requestState, inputResponses: {} })).rejects.toMatchObject({ code: -32_602 });
  });

  it('D-2: ends its call by leaving the request', async () => {
    const agent = defineAgent({ name: 'helper', models: [rehearsalModel(() => ({ hangs: true }))] });
    const types: string[] = [];
    const onEvent = ({ type }: SessionEvent) => void types.push(type);
    await using served = await serveMcp(agent, { transport: { http: {} }, logger: false, onEvent });
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(new URL(String(served.url))));
    const leaving = new AbortController();
    const called = client
      .callTool({ name: 'helper', arguments: { prompt: 'x' } }, { signal: leaving.signal })
      .catch(() => 'left');
    await until(() => types.includes('attempt.started'));
    leaving.abort();
    await until(() => types.includes('session.aborted'));
    expect(await called).toBe('left');
    await client.close();
  });

  it('D-2: a server that closes ends the call whose client has its questions', async () => {
    const { client, types, served } = await serving({ answer: () => ({ action: 'cancel' }) });
    const params = { name: 'helper', arguments: { prompt: 'Send.' } };
    await client.request({ method: 'tools/call', params }, { allowInputRequired: true });
    await served.close();
    expect(types().at(-1)).toBe('session.aborted');
  });
});
