import { expect, it } from 'vitest';
import { defineAgent, serveMcp } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

it('D-2: the response to a cancelled call ends, and the server closes without waiting for it', async () => {
  const agent = defineAgent({ name: 'helper', models: [rehearsalModel([{ hangs: true }])] });
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const served = await serveMcp(agent, {
    transport: { http: {} },
    logger: false,
    onEvent: ({ type }) => {
      if (type === 'attempt.started') begun.resolve();
      if (type === 'session.aborted') ended.resolve();
    },
  });
  let session: string | null = null;
  const post = async (message: object) => {
    const headers = {
      ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      ...(session !== null && { 'mcp-session-id': session }),
    };
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    const response = await fetch(String(served.url), { method: 'POST', headers, body });
    session ??= response.headers.get('mcp-session-id');
    return response;
  };
  const clientInfo = { name: 'test', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  await (await post({ id: 1, method: 'initialize', params })).text();
  await post({ method: 'notifications/initialized' });
  const called = await post({ id: 2, method: 'tools/call', params: { name: 'helper', arguments: { prompt: 'x' } } });
  const answer = called.text();
  await begun.promise;
  await post({ method: 'notifications/cancelled', params: { requestId: 2 } });
  await ended.promise;
  expect(await answer).toBe('');
  await served.close();
});
