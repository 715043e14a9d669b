import { describe, expect, it } from 'vitest';
import { mcpPool } from '../../../src/index.ts';
import type { McpServerConfig } from '../../../src/tools/mcp/config.ts';
import { call, mark, running, slugsOf, texts } from '../../support/mcp.ts';
import { newestServer } from '../../support/newest-mcp.ts';
import { counters, report, runOverWire, tokensOf } from '../../support/session.ts';
import { sseServer } from '../../support/sse-mcp.ts';

const session = (config: McpServerConfig, calls: ReturnType<typeof call>[], more: object = {}) =>
  runOverWire({ script: [{ calls }, report()], definition: { mcpServers: { docs: config }, ...more } });

describe('C-5: a server of revision 2026-07-28', () => {
  it('is discovered, and gets each request whole: its revision, its client, and the headers that a tool asks for', async () => {
    await using server = await newestServer();
    const run = await session({ url: server.url }, [call('docs__echo', { text: 'hi' })]);
    expect(run.result.status).toBe('succeeded');
    expect(run.result.counters).toEqual(
      counters({
        ...{ turns: 2, attempts: 2, costUsd: null },
        toolCalls: { requested: 2, answered: 2, executed: 1, succeeded: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
      }),
    );
    expect(texts(run)[0]).toBe('hi');
    expect(server.methods().filter((method) => !/listen|cancelled/.test(method))).toEqual([
      'server/discover',
      'tools/list',
      'tools/call',
    ]);
    const called = server.got.find(({ method }) => method === 'tools/call');
    expect(called?.headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
      'mcp-param-text': 'hi',
    });
    expect(called?.params._meta).toMatchObject({ 'io.modelcontextprotocol/clientInfo': { name: 'pawl' } });
  });

  it('a tool whose headers cannot be sent is left out, and the log says why', async () => {
    await using server = await newestServer();
    const run = await session({ url: server.url }, [call('docs__odd', {})]);
    expect(slugsOf(run)[0]).toBe('unknown_tool');
    expect(run.lines.map(({ line }) => line)).toContain('skipped the tool "odd": a header cannot hold "array"');
  });

  it('T-6: structured content may be any JSON', async () => {
    await using server = await newestServer();
    expect(texts(await session({ url: server.url }, [call('docs__count')]))[0]).toBe('3');
  });

  it('what it asks of a person is asked of `elicit`, and the call goes on with the answer', async () => {
    await using server = await newestServer();
    const asked: unknown[] = [];
    const elicit = (question: { message: string }) => {
      asked.push(question.message);
      return { action: 'accept' as const, content: { name: 'Ann' } };
    };
    const run = await session({ url: server.url, handlers: { elicit } }, [call('docs__ask')]);
    expect([asked, texts(run)[0]]).toEqual([
      ['Your name?'],
      '{"question":{"action":"accept","content":{"name":"Ann"}}} one',
    ]);
  });

  it.each(['ask', 'sample'])('C-3: a call that needs what no handler answers (%s) fails alone', async (name) => {
    await using server = await newestServer();
    const run = await session({ url: server.url }, [call(`docs__${name}`), call('docs__echo', { text: 'x' })]);
    expect(slugsOf(run).slice(0, 2)).toEqual(['tool_exec_failed', null]);
    expect(texts(run)[0]).toMatch(name === 'ask' ? /elicitation/ : /sampling/);
  });

  it('S-5: `auth` gives each request its token, which no answer shows', async () => {
    const token = 'tok-4711-abcdefgh';
    await using server = await newestServer({ lacking: token });
    let given = 0;
    const auth = async () => {
      given += 1;
      return token;
    };
    const run = await session({ url: server.url, auth }, [call('docs__leak')]);
    expect(texts(run)[0]).toBe('you sent [redacted]');
    expect(given).toBe(server.got.length);
    expect(JSON.stringify([run.result, run.events, run.lines])).not.toContain(token);
    const refused = await session({ url: server.url, auth: () => 'another-token-1' }, []);
    expect(refused.result.slugs).toEqual(['tools_unavailable']);
  });

  it('S-5: what a function of headers gives is kept out of answers, alone or with its scheme', async () => {
    await using server = await newestServer();
    const headers = () => ({ authorization: 'Bearer tok+4711/abcdefgh==' });
    const run = await session({ url: server.url, headers }, [call('docs__leak'), call('docs__leak')]);
    expect(texts(run).slice(0, 2)).toEqual(['you sent [redacted]', 'you sent [redacted]']);
    const token = await session({ url: server.url, headers }, [call('docs__echo', { text: 'tok+4711/abcdefgh==' })]);
    expect(texts(token)[0]).toBe('[redacted]');
  });

  it('a list that changes is read again; one that holds no longer is, when a session begins', async () => {
    await using server = await newestServer({ ttlMs: 0 });
    await using pool = mcpPool({ docs: { url: server.url } });
    const begun = () => server.methods().filter((method) => method === 'tools/list').length;
    await session(pool.servers.docs as never, []);
    expect(begun()).toBe(1);
    await session(pool.servers.docs as never, []);
    expect(begun()).toBe(2);
    await expect.poll(() => server.methods()).toContain('subscriptions/listen');
    server.change();
    await expect.poll(begun).toBeGreaterThan(2);
    const run = await session(pool.servers.docs as never, [call('docs__added', { text: 'new' })]);
    expect(texts(run)[0]).toBe('new');
    expect(server.methods().filter((method) => method === 'server/discover')).toHaveLength(1);
  });

  it('a pool whose subscription broke off opens it again, and has what changed meanwhile', async () => {
    await using server = await newestServer();
    await using pool = mcpPool({ docs: { url: server.url } });
    await session(pool.servers.docs as never, []);
    const begun = (name: string) => server.methods().filter((method) => method === name).length;
    await expect.poll(() => begun('subscriptions/listen')).toBe(1);
    const lists = begun('tools/list');
    server.changeUnheard();
    await expect.poll(() => begun('subscriptions/listen'), { timeout: 20_000 }).toBeGreaterThan(1);
    await expect.poll(() => begun('tools/list'), { timeout: 20_000 }).toBeGreaterThan(lists);
    const run = await session(pool.servers.docs as never, [call('docs__added', { text: 'new' })]);
    expect(texts(run)[0]).toBe('new');
  });

  it('a list that holds is not read again', async () => {
    await using server = await newestServer();
    await using pool = mcpPool({ docs: { url: server.url } });
    for (let count = 0; count < 2; count += 1) await session(pool.servers.docs as never, []);
    expect(server.methods().filter((method) => method === 'tools/list')).toHaveLength(1);
  });
});

describe('a server of an earlier revision', () => {
  const old = (onUnknown: string): McpServerConfig => ({
    command: process.execPath,
    args: [
      '-e',
      `
      const { createInterface } = require('node:readline');
      const send = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
      createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        const serverInfo = { name: 'old', version: '1' };
        if (method === 'initialize') send(id, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo });
        else if (method === 'tools/list') send(id, { tools: [{ name: 'look', inputSchema: { type: 'object' } }] });
        else if (method === 'tools/call') send(id, { content: [{ type: 'text', text: 'seen' }] });
        else if (id !== undefined) ${onUnknown};
      });
      `,
      mark,
    ],
  });

  it('that ends at a request that it does not know is started again without it', async () => {
    const run = await session(old('process.exit(1)'), [call('docs__look')]);
    expect(texts(run)[0]).toBe('seen');
    expect(running()).toEqual([]);
  });

  it('that does not answer it is spoken to as it was before', async () => {
    const run = await session(old('undefined'), [call('docs__look')], { limits: { prepareTimeoutMs: 4_000 } });
    expect(texts(run)[0]).toBe('seen');
    expect(running()).toEqual([]);
  });

  it('whose URL takes no such request is asked for the event stream of HTTP with SSE', async () => {
    await using server = await sseServer();
    const run = await session({ url: server.url }, [call('docs__look')]);
    expect(texts(run)[0]).toBe('seen');
    // A request in vain, then the stream; the next time, the stream at once.
    expect(server.got).toEqual([
      'POST /sse',
      'POST /sse',
      'GET /sse',
      'POST /messages',
      'POST /messages',
      'POST /messages',
      'POST /messages',
    ]);
  });

  it('that is away says what the newest way met', async () => {
    const run = await session({ url: 'http://127.0.0.1:9/mcp' }, []);
    expect(run.result.slugs).toEqual(['tools_unavailable']);
    expect(run.result.failure?.detail).toContain('the MCP server docs is unavailable');
  });
});
