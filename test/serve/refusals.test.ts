import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { describe, expect, it } from 'vitest';
import { defineAgent, serveMcp } from '../../src/index.ts';
import { serveOpenai } from '../../src/openai/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { until } from '../support/journaled.ts';
import { report } from '../support/session.ts';

describe('what an application throws to refuse a caller', () => {
  it('is the answer, also if it got it by `fetch`, and the classes of the process stay', async () => {
    const gate = createServer((_, response) => response.writeHead(401, { 'x-gate': 'own' }).end('Who are you?'));
    await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve));
    const { port } = gate.address() as AddressInfo;
    const before = [globalThis.Request, globalThis.Response];
    const agent = defineAgent({ name: 'guarded', models: [rehearsalModel(() => report())] });
    const context = async () => {
      throw await fetch(`http://127.0.0.1:${port}`);
    };
    await using served = await serveOpenai([agent], { context, logger: false });
    const body = JSON.stringify({ model: 'guarded', messages: [{ role: 'user', content: 'Go.' }] });
    const answer = await fetch(`${served.url}/chat/completions`, { method: 'POST', body });
    expect([answer.status, answer.headers.get('x-gate'), await answer.text()]).toEqual([401, 'own', 'Who are you?']);
    expect([globalThis.Request, globalThis.Response]).toEqual(before);
    gate.closeAllConnections();
    await new Promise((resolve) => gate.close(resolve));
  });
});

describe('D-2: a server of MCP that closes', () => {
  /** An agent whose tool runs until its session is aborted. */
  function holding() {
    let isHeld = false;
    const hold = (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise<string>((_resolve, reject) => {
        isHeld = true;
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const models = [rehearsalModel(() => ({ calls: [{ name: 'hold' }] }))];
    return { agent: defineAgent({ name: 'helper', models, tools: { hold } }), isHeld: () => isHeld };
  }

  it.each(['over HTTP', 'over another transport'])('answers the calls in flight first, %s', async (place) => {
    const { agent, isHeld } = holding();
    const [mine, theirs] = InMemoryTransport.createLinkedPair();
    const transport = place === 'over HTTP' ? { http: {} } : theirs;
    const served = await serveMcp(agent, { transport: transport as never, logger: false });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(
      (served.url === null ? mine : new StreamableHTTPClientTransport(new URL(served.url))) as typeof mine,
    );
    const called = client.callTool({ name: 'helper', arguments: { prompt: 'Go.' } });
    await until(isHeld);
    await served.close();
    expect(await called).toMatchObject({ isError: true, _meta: { slugs: ['aborted'] } });
    await client.close();
  });
});
