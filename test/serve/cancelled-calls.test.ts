import { describe, expect, it } from 'vitest';
import { defineAgent, serveMcp } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { until } from '../support/journaled.ts';

const call = (id: number) => ({ id, method: 'tools/call', params: { name: 'helper', arguments: { prompt: 'x' } } });

/** A served agent whose model hangs, and a client of an earlier protocol, whose requests may hold several messages. */
async function serving() {
  const agent = defineAgent({ name: 'helper', models: [rehearsalModel(() => ({ hangs: true }))] });
  const seen: string[] = [];
  const served = await serveMcp(agent, {
    transport: { http: {} },
    logger: false,
    onEvent: ({ type }) => void seen.push(type),
  });
  let session: string | null = null;
  const post = async (...messages: object[]) => {
    const headers = {
      ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      ...(session !== null && { 'mcp-session-id': session }),
    };
    const whole = messages.map((message) => ({ jsonrpc: '2.0', ...message }));
    const body = JSON.stringify(whole.length === 1 ? whole[0] : whole);
    const response = await fetch(String(served.url), { method: 'POST', headers, body });
    session ??= response.headers.get('mcp-session-id');
    return response;
  };
  const clientInfo = { name: 'test', version: '1' };
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo };
  await (await post({ id: 1, method: 'initialize', params })).text();
  await post({ method: 'notifications/initialized' });
  const times = (type: string) => seen.filter((one) => one === type).length;
  return { served, post, times, cancel: () => post({ method: 'notifications/cancelled', params: { requestId: 2 } }) };
}

describe('D-2: the response to a cancelled call', () => {
  it('ends, and the server closes without waiting for it', async () => {
    const { served, post, times, cancel } = await serving();
    const answer = (await post(call(2))).text();
    await until(() => times('attempt.started') === 1);
    await cancel();
    await until(() => times('session.aborted') === 1);
    expect(await answer).toBe('');
    await served.close();
  });

  it('stays open for the other calls of its request', async () => {
    const { served, post, times, cancel } = await serving();
    const answer = (await post(call(2), call(3))).text();
    await until(() => times('attempt.started') === 2);
    await cancel();
    await until(() => times('session.aborted') === 1);
    await served.close();
    expect(await answer).toMatch(/^event: message\ndata: .*"id":3/);
  });
});
