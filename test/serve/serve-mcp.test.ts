import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/host/clock.ts';
import { defineAgent, PawlError, type SessionEvent, serveMcp } from '../../src/index.ts';
import { rehearsalModel, startModelServer } from '../../src/testing/index.ts';
import { callsIn, keptLog, report, runOverWire } from '../support/session.ts';

const agentOf = (replies: Parameters<typeof rehearsalModel>[0], over: object = {}) =>
  defineAgent({ name: 'helper', description: 'It helps.', models: [rehearsalModel(replies)], ...over });
const { logger } = keptLog();

async function clientOf(url: string | null): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url ?? ''));
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return client;
}

describe('an agent as an MCP server', () => {
  it('over HTTP it offers one tool, runs each call as a session, forwards progress and returns the report', async () => {
    const agent = agentOf([{}, { calls: [{ name: 'look' }] }, report('Found it.')], { tools: { look: () => 'x' } });
    await using served = await serveMcp(agent, { transport: { http: {} }, logger });
    const client = await clientOf(served.url);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([{ name: 'helper', description: 'It helps.', inputSchema: { required: ['prompt'] } }]);
    const progress: string[] = [];
    const result = await client.callTool({ name: 'helper', arguments: { prompt: 'Look.' } }, undefined, {
      onprogress: ({ message }) => progress.push(message ?? ''),
    });
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'Found it.' }] });
    expect(result.isError).toBeFalsy();
    expect(progress).toEqual(
      expect.arrayContaining(['turn 1, attempt 1', 'turn 1, attempt 1 failed: empty_response', 'look: done']),
    );
    await client.close();
  });

  it('a JSON report is also structured content, and a failed session is an error with its slugs and report', async () => {
    const schema = z.object({ answer: z.number() });
    await using good = await serveMcp(agentOf([report({ answer: 42 })], { report: { format: 'json', schema } }), {
      transport: { http: {} },
      logger,
    });
    await using bad = await serveMcp(agentOf([{}], { limits: { maxRetries: 1 } }), { transport: { http: {} }, logger });
    const [one, other] = await Promise.all([clientOf(good.url), clientOf(bad.url)]);
    const call = { name: 'helper', arguments: { prompt: 'x' } };
    expect(await one.callTool(call)).toMatchObject({ structuredContent: { answer: 42 } });
    expect(await other.callTool(call)).toMatchObject({
      isError: true,
      _meta: { slugs: ['retries_exhausted', 'empty_response'] },
      content: [{ text: expect.stringContaining('no report was accepted') }],
    });
    await Promise.all([one.close(), other.close()]);
  });

  it('D-2: a cancelled call, a disconnected client and a closed server each abort the session', async () => {
    const ended: string[] = [];
    const started = Promise.withResolvers<void>();
    const onEvent = (event: SessionEvent) => {
      if (event.type === 'attempt.started') started.resolve();
      if (event.type === 'session.aborted') ended.push(event.failure.detail ?? '');
    };
    const agent = agentOf([{ hangs: true }]);
    await using served = await serveMcp(agent, { transport: { http: {} }, logger, onEvent });
    const client = await clientOf(served.url);
    const cancel = new AbortController();
    const cancelled = client.callTool({ name: 'helper', arguments: { prompt: 'x' } }, undefined, {
      signal: cancel.signal,
    });
    cancelled.catch(() => undefined);
    await started.promise;
    cancel.abort();
    await expect(cancelled).rejects.toThrow();
    await expect.poll(() => ended.length).toBe(1);

    const [mine, its] = InMemoryTransport.createLinkedPair();
    const inMemory = await serveMcp(agent, { transport: its, logger, onEvent });
    const peer = new Client({ name: 'test', version: '1' });
    await peer.connect(mine);
    peer.callTool({ name: 'helper', arguments: { prompt: 'x' } }).catch(() => undefined);
    await expect.poll(() => served.url !== null).toBe(true);
    await peer.ping();
    await inMemory.close();
    await inMemory.closed;
    await expect.poll(() => ended.length).toBe(2);
    await client.close();
  });

  it('C-1: a question that is too late is withdrawn from the person', async () => {
    const ask = { needsApproval: true, inputSchema: z.object({}), execute: () => 'asked' };
    // The SDK's client takes no notice of a cancelled request with the id 0, the first.
    const agent = agentOf([{ calls: [{ name: 'ask' }, { name: 'ask' }] }, report('Without.')], {
      tools: { ask },
      limits: { approvalTimeoutMs: 50 },
    });
    const [mine, its] = InMemoryTransport.createLinkedPair();
    await using served = await serveMcp(agent, { transport: its, logger });
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
    const withdrawn = Promise.withResolvers<void>();
    client.setRequestHandler(ElicitRequestSchema, (_request, { signal }) => {
      signal.addEventListener('abort', () => withdrawn.resolve());
      return new Promise(() => {});
    });
    await client.connect(mine);
    const result = await client.callTool({ name: 'helper', arguments: { prompt: 'x' } });
    expect(result).toMatchObject({ content: [{ text: 'Without.' }] });
    await withdrawn.promise;
    await served.close();
  });

  it('leaves no timer of a client that vanished', async () => {
    const began = Promise.withResolvers<void>();
    const served = await serveMcp(agentOf([{ hangs: true }]), {
      transport: { http: { disconnectGraceMs: 601_234 } },
      logger,
      onEvent: ({ type }) => type === 'attempt.started' && began.resolve(),
    });
    const armed = new Set<number>();
    const { alarm } = systemClock;
    const armedFor = vi.spyOn(systemClock, 'alarm').mockImplementation((ms, ring) => {
      armed.add(ms);
      const cancel = alarm.call(systemClock, ms, ring);
      return () => {
        armed.delete(ms);
        cancel();
      };
    });
    onTestFinished(() => armedFor.mockRestore());
    const client = await clientOf(served.url);
    const called = client.callTool({ name: 'helper', arguments: { prompt: 'x' } }).catch(() => undefined);
    await began.promise;
    await client.close();
    await called;
    await expect.poll(() => armed.has(601_234)).toBe(true);
    await served.close();
    expect(armed.has(601_234)).toBe(false);
  });

  it('clients that connect and go silent do not displace one that waits for its answer', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<string>();
    const agent = agentOf([{ calls: [{ name: 'slow' }] }, report('Here.')], { tools: { slow: () => held } });
    const { promise: began, resolve: begin } = Promise.withResolvers<void>();
    await using served = await serveMcp(agent, {
      transport: { http: {} },
      logger,
      onEvent: (event) => event.type === 'tool.started' && begin(),
    });
    const client = await clientOf(served.url);
    const waiting = client.callTool({ name: 'helper', arguments: { prompt: 'x' } });
    await began;
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const hello = async () => await (await fetch(served.url ?? '', { method: 'POST', headers, body })).text();
    for (let round = 0; round < 21; round += 1) await Promise.all(Array.from({ length: 50 }, hello));
    release('found');
    expect(await waiting).toMatchObject({ content: [{ text: 'Here.' }] });
    await client.close();
  }, 30_000);

  it('an unknown tool or invalid input is a protocol error, and other hosts and paths are refused', async () => {
    await using served = await serveMcp(agentOf([report()]), { transport: { http: {} }, logger });
    const client = await clientOf(served.url);
    await expect(client.callTool({ name: 'other', arguments: {} })).rejects.toThrow(
      'MCP error -32602: unknown tool other',
    );
    await expect(client.callTool({ name: 'helper', arguments: { prompt: 7 } })).rejects.toThrow(
      'MCP error -32602: `prompt` must be a string that is not blank; got 7.',
    );
    const url = served.url ?? '';
    expect((await fetch(url.replace('/mcp', '/else'))).status).toBe(404);
    expect((await fetch(url, { method: 'POST', headers: { 'mcp-session-id': 'nobody' }, body: '{}' })).status).toBe(
      404,
    );
    expect((await fetch(url, { method: 'POST', body: 'no JSON' })).status).toBe(400);
    const elsewhere = await fetch(url, { method: 'POST', headers: { origin: 'https://example.com' }, body: '{}' });
    expect(elsewhere.status).toBe(403);
    expect((await fetch(url, { method: 'POST', body: 'x'.repeat(5_000_000) })).status).toBe(413);
    await client.close();
  });

  it('B-7: an agent can call another agent over MCP', async () => {
    await using served = await serveMcp(agentOf([report('from below')]), { transport: { http: {} }, logger });
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'far__helper', input: { prompt: 'x' } }] }, report()],
      definition: { mcpServers: { far: { url: served.url ?? '' } } },
    });
    expect(callsIn(result)[0]?.output).toEqual({ type: 'text', value: 'from below' });
  });

  it('an invalid transport, agent or budget is refused', async () => {
    await expect(serveMcp(agentOf([report()]), { transport: 'pigeon' as never })).rejects.toThrow(PawlError);
    await expect(serveMcp({} as never, { transport: 'stdio' })).rejects.toThrow(
      '`agent` must be an agent made by defineAgent; got {}.',
    );
    const spent = { transport: { http: {} }, budget: { requests: 0 } };
    await expect(serveMcp(agentOf([report()]), spent)).rejects.toThrow(
      '`budget.requests` must be an integer of at least 1; got 0.',
    );
  });
});

it.each<[object, string]>([
  [{ transport: { http: { port: 'abc' } } }, '`transport.http.port` must be an integer from 0 to 65535; got "abc".'],
  [
    { transport: { http: { path: '/x' } } },
    'Unknown option `transport.http.path`. Options: port, host, auth, hosts, origins, disconnectGraceMs.',
  ],
  [
    { transport: { http: {} }, budjet: 3 },
    'Unknown option `budjet`. Did you mean `budget`? Options: transport, logger, budget, context, metadata, maxSessions, journal, tasks, onEvent, telemetry.',
  ],
  [
    { transport: { http: {} }, logger: 5 },
    '`logger` must be a logger with debug, info, warn and error, or false for none; got 5.',
  ],
  [{ transport: { http: {} }, onEvent: 5 }, '`onEvent` must be a function; got 5.'],
])('invalid options are refused: %o', async (options, message) => {
  const served = serveMcp(agentOf([report()]), options as never);
  await expect(served).rejects.toThrow(PawlError);
  await expect(served).rejects.toThrow(message);
});

describe('pawl serve', () => {
  const cli = resolve('src/cli/main.ts');
  const agentFile = () => {
    const file = join(mkdtempSync(join(tmpdir(), 'pawl-serve-')), 'helper.md');
    writeFileSync(file, '---\nname: helper\n---\nYou help.\n');
    return file;
  };

  it('serves over stdio when a client starts it', async () => {
    await using models = await startModelServer([report('by stdio')]);
    const client = new Client({ name: 'test', version: '1' });
    const args = [cli, 'serve', '--mcp', agentFile(), '--base-url', models.url, '--model', 'any'];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
    const result = await client.callTool({ name: 'helper', arguments: { prompt: 'x' } });
    expect(result.content).toEqual([{ type: 'text', text: 'by stdio' }]);
    await client.close();
  });

  it('serves over HTTP until SIGINT', async () => {
    await using models = await startModelServer([report('by HTTP')]);
    const args = [cli, 'serve', '--mcp', agentFile(), '--http', '0', '--base-url', models.url, '--model', 'any'];
    const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const [line] = await once(child.stderr ?? process.stdin, 'data');
    const client = await clientOf(/http:\S+/.exec(String(line))?.[0] ?? null);
    const result = await client.callTool({ name: 'helper', arguments: { prompt: 'x' } });
    expect(result.content).toEqual([{ type: 'text', text: 'by HTTP' }]);
    await client.close();
    child.kill('SIGINT');
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
  });

  it('serves an agent as a model until SIGTERM', async () => {
    await using models = await startModelServer([report('as a model')]);
    const args = [cli, 'serve', '--openai', agentFile(), '--http', '0', '--base-url', models.url, '--model', 'any'];
    const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const [line] = await once(child.stderr ?? process.stdin, 'data');
    const url = /http:\S+/.exec(String(line))?.[0] ?? '';
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'helper', messages: [{ role: 'user', content: 'x' }] }),
    });
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'as a model' } }] });
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
  });

  it.each([
    [['serve'], 'Name one agent: pawl serve --mcp agent.md, or pawl serve --openai agent.md.'],
    [['serve', '--mcp', 'a.md', '--openai', 'b.md'], 'Name one agent: pawl serve'],
    [['serve', '--mcp', 'absent.md'], 'could not be read'],
    [['serve', '--mcp', 'x.md', '--http', 'many'], '`--http` must be a port from 0 to 65535; got "many".'],
  ])('%j is refused with one sentence and exit code 2', async (args, message) => {
    const child = spawn(process.execPath, [cli, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const [code] = await once(child, 'close');
    expect([code, said]).toEqual([2, expect.stringContaining(message)]);
  });
});
