import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { defineAgent, type ServedAgent, serveMcp } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { keptLog } from '../support/session.ts';

const bearer = 'a-token-of-many-characters';
const fields = {
  authorization: `Bearer ${bearer}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
const hello = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });

let served: ServedAgent;
beforeAll(async () => {
  const agent = defineAgent({ name: 'helper', models: [rehearsalModel([])] });
  served = await serveMcp(agent, { transport: { http: { auth: { bearer } } }, logger: false });
});
afterAll(() => served.close());

/** Sends a request whose target is exactly `path`, and reads its answer. */
async function ask(path: string, method = 'GET', headers: object = {}, body?: string) {
  const { hostname, port } = new URL(served.url ?? '');
  const asked = httpRequest({ hostname, port, path, method, headers: { ...fields, ...headers } });
  asked.end(body);
  const [response] = await once(asked, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  return { status: response.statusCode, headers: response.headers, text };
}
const refusal = (message: string) => ({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null });

describe('an MCP server over HTTP refuses', () => {
  it.each<[string, number, string, [string, string?, object?, string?]]>([
    ['another path', 404, 'the server is at /mcp', ['/other']],
    ['a target that is no URL', 404, 'the server is at /mcp', ['//']],
    ['the session of another', 404, 'unknown session', ['/mcp', 'POST', { 'mcp-session-id': 'x' }, hello]],
    [
      'a body that is no JSON',
      400,
      "The body is not JSON: Expected property name or '}' in JSON at position 1 (line 1 column 2).",
      ['/mcp?a=b', 'POST', {}, '{'],
    ],
    [
      'a body of 501 levels',
      400,
      'The body cannot be read: it is nested more than 500 levels deep.',
      ['/mcp?a=b', 'POST', {}, `${'['.repeat(501)}${']'.repeat(501)}`],
    ],
    ['a request without the token', 401, 'unauthorized', ['/mcp', 'POST', { authorization: '' }, hello]],
    ['a request of another host', 403, 'host not allowed', ['/mcp', 'POST', { host: 'x.test' }, hello]],
  ])('%s', async (_, status, message, [path, method, headers, body]) => {
    const answer = await ask(path, method, headers, body);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toEqual(refusal(message));
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', connection: 'close' });
    expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer' : undefined);
  });

  it('a body of more than 4 MiB', async () => {
    const most = 4 * 1_024 * 1_024;
    const wide = await ask('/mcp', 'POST', {}, hello + ' '.repeat(most - hello.length));
    expect(wide.status).toBe(200);
    const wider = await ask('/mcp', 'POST', {}, hello + ' '.repeat(most + 1 - hello.length));
    expect([wider.status, JSON.parse(wider.text)]).toEqual([413, refusal('The body is larger than 4194304 bytes.')]);
  });

  it('a session after its client has ended it', async () => {
    const { headers } = await ask('/mcp', 'POST', {}, hello);
    const own = { 'mcp-session-id': String(headers['mcp-session-id']), 'mcp-protocol-version': '2025-06-18' };
    const list = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    const listed = await ask('/mcp', 'POST', own, list);
    expect([listed.status, listed.text.includes('"helper"')]).toEqual([200, true]);
    expect((await ask('/mcp', 'DELETE', own)).status).toBe(200);
    expect((await ask('/mcp', 'POST', own, list)).status).toBe(404);
  });
});

it('says when it is closed', async () => {
  const agent = defineAgent({ name: 'helper', models: [rehearsalModel([])] });
  const one = await serveMcp(agent, { transport: { http: {} }, logger: false });
  let isClosed = false;
  void one.closed.then(() => {
    isClosed = true;
  });
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  await one.close();
  await one.closed;
  await expect(fetch(one.url ?? '')).rejects.toThrow();
});

it('S-5: what goes wrong in the server is in its log, and not in the answer', async () => {
  const { lines, logger } = keptLog();
  const agent = defineAgent({ name: 'helper', models: [rehearsalModel([])], secrets: ['hunter-two-22'] });
  await using own = await serveMcp(agent, { transport: { http: {} }, logger });
  const broken = vi.spyOn(WebStandardStreamableHTTPServerTransport.prototype, 'handleRequest');
  onTestFinished(() => broken.mockRestore());
  broken.mockRejectedValue(new Error('no table for hunter-two-22'));
  const { authorization: _, ...headers } = fields;
  const response = await fetch(own.url ?? '', { method: 'POST', headers, body: hello });
  expect([response.status, await response.json()]).toEqual([500, refusal('The server could not answer the request.')]);
  expect(lines).toMatchObject([
    { level: 50, event: 'request.failed', error: expect.stringContaining('no table for [redacted]') },
  ]);
});
