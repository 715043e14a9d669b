import { afterEach, describe, expect, it } from 'vitest';
import { type McpServerConfig, mcpPool } from '../../../src/index.ts';
import { toolName } from '../../../src/tools/mcp/servers.ts';
import { faultyHttpServer } from '../../support/faulty-mcp.ts';
import { call, odd, running, slugsOf } from '../../support/mcp.ts';
import { json, service } from '../../support/service.ts';
import { counters, report, runOverWire } from '../../support/session.ts';

describe('servers that do not start', () => {
  it.each<[string, McpServerConfig]>([
    ['no such command', { command: '/no/such/command' }],
    ['a command that exits immediately', { command: process.execPath, args: ['-e', ''] }],
    ['a server that never replies', { ...odd(), env: { ODD_MUTE: '1' } } as McpServerConfig],
    ['no such address', { url: 'http://127.0.0.1:49151/mcp' }],
  ])(
    '%s: the session fails with tools_unavailable and names the server, or continues without it if it is optional',
    async (_name, config) => {
      const definition = { mcpServers: { missing: config }, limits: { prepareTimeoutMs: 800 } };
      const failed = await runOverWire({ script: [report()], definition });
      expect(failed.requests).toHaveLength(0);
      expect(failed.result.slugs).toEqual(['tools_unavailable']);
      expect(failed.result.failure?.detail).toContain('the MCP server missing is unavailable');
      if ('url' in config) expect(failed.result.failure?.detail).toContain('ECONNREFUSED 127.0.0.1:49151');
      expect(failed.result.counters).toEqual(counters({ slugs: { tools_unavailable: 1 } }));
      const optional = { ...definition, mcpServers: { missing: { ...config, optional: true } } };
      const gone = await runOverWire({ script: [report()], definition: optional });
      expect(gone.result.success).toBe(true);
      expect(gone.events.some((event) => event.type === 'server.unavailable')).toBe(true);
      expect(gone.lines.filter((line) => line.event === 'server.unavailable')).toHaveLength(1);
      expect(running()).toEqual([]);
    },
  );

  it('D-2: an abort also stops a starting server', async () => {
    const { result } = await runOverWire({
      script: [report()],
      definition: { mcpServers: { mute: { ...odd(), env: { ODD_MUTE: '1' } } as McpServerConfig } },
      during: () => undefined,
      options: { signal: AbortSignal.timeout(200) },
    });
    expect(result.status).toBe('aborted');
    expect(running()).toEqual([]);
  });
});

it('D-2: a server over HTTP whose tools cannot be listed is told that its session is over', async () => {
  await using server = await service(({ method, body }, response) => {
    if (method !== 'POST') return response.writeHead(method === 'DELETE' ? 200 : 405).end();
    const message = JSON.parse(body);
    if (message.id === undefined) return response.writeHead(202).end();
    response.setHeader('mcp-session-id', 'one');
    const { id } = message;
    if (message.method !== 'initialize')
      return json(response, { jsonrpc: '2.0', id, error: { code: 1, message: 'no' } });
    const result = {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'x', version: '1' },
    };
    return json(response, { jsonrpc: '2.0', id, result });
  });
  const { result } = await runOverWire({ script: [], definition: { mcpServers: { far: { url: server.url } } } });
  expect(result.slugs).toEqual(['tools_unavailable']);
  expect(result.counters).toEqual(counters({ slugs: { tools_unavailable: 1 } }));
  const { method, headers } = server.received.at(-1) ?? {};
  expect([method, headers?.['mcp-session-id']]).toEqual(['DELETE', 'one']);
});

it('D-2: a server over HTTP hears of a cancellation before the end of its session, however slow it is to hear', async () => {
  const heard: string[] = [];
  await using server = await service(({ method, body }, response) => {
    if (method !== 'POST') {
      heard.push(method);
      return response.writeHead(method === 'DELETE' ? 200 : 405).end();
    }
    const { id, method: asked } = JSON.parse(body);
    if (asked === 'notifications/cancelled') {
      return void setTimeout(() => {
        heard.push(asked);
        response.writeHead(202).end();
      }, 50);
    }
    if (id === undefined) return response.writeHead(202).end();
    response.setHeader('mcp-session-id', 'one');
    const tools = [{ name: 'wait', inputSchema: { type: 'object' } }];
    if (asked === 'tools/list') return json(response, { jsonrpc: '2.0', id, result: { tools } });
    // The call never ends by itself.
    if (asked === 'tools/call') return response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const capabilities = { tools: {} };
    const result = { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 'x', version: '1' } };
    return json(response, { jsonrpc: '2.0', id, result });
  });
  const controller = new AbortController();
  const { result } = await runOverWire({
    script: [{ calls: [call('far__wait')] }],
    definition: { mcpServers: { far: { url: server.url } } },
    options: { signal: controller.signal },
    during: ({ type }) => {
      if (type === 'tool.started') setTimeout(() => controller.abort('enough'), 50);
    },
  });
  expect(result.status).toBe('aborted');
  expect(heard.filter((what) => what !== 'GET')).toEqual(['notifications/cancelled', 'DELETE']);
});

it('D-2: servers that neither start nor stop do not keep a session from ending', async () => {
  await using server = await faultyHttpServer({ deaf: true });
  const never = () => new Promise<never>(() => undefined);
  const run = await runOverWire({
    script: [report()],
    definition: {
      mcpServers: {
        deaf: { url: server.url },
        mute: { transport: () => ({ start: never, send: never, close: never }), optional: true },
      },
      limits: { prepareTimeoutMs: 1_000 },
    },
  });
  expect(run.result.success).toBe(true);
  expect(run.lines.filter(({ line }) => line === 'closing took more than 3000 ms').length).toBeGreaterThan(0);
}, 15_000);

describe('tool lists', () => {
  it('C-5: an unusable tool is left out and reported, and the others stay', async () => {
    const run = await runOverWire({
      script: [{ calls: [call('odd__hollow'), call('odd__wrong'), call('odd__later', { a: 1 })] }, report()],
      definition: { mcpServers: { odd: { ...odd(), deny: ['nonesuch'], idempotent: ['nothing'] } as McpServerConfig } },
    });
    expect(slugsOf(run)).toEqual([null, 'unknown_tool', 'unknown_tool', null]);
    const said = run.lines.flatMap((line) => (line.event === 'server.unavailable' ? [String(line.line)] : []));
    expect(said.join('\n')).toMatch(/skipped later/);
    for (const name of ['nonesuch', 'nothing'])
      expect(said.join('\n')).toContain(`list ${name}, but it has no such tool`);
  });

  it('a storm of list changes is coalesced', async () => {
    const run = await runOverWire({
      script: [{ calls: [call('odd__storm')] }, { calls: [call('odd__echo')] }, report()],
      definition: { mcpServers: { odd: odd() } },
    });
    expect(slugsOf(run)).toEqual([null, null, null]);
    expect(run.events.filter((event) => event.type === 'server.toolsChanged')).toHaveLength(0);
  });
});

describe('processes', () => {
  afterEach(() => expect(running()).toEqual([]));

  it('a server ends with all its child processes, even if it ignores SIGTERM', async () => {
    const run = await runOverWire({
      script: [{ calls: [call('odd__echo')] }, report()],
      definition: { mcpServers: { odd: odd('--with-child', '--stubborn') } },
      during: (event) => {
        if (event.type === 'tool.started') expect(running().length).toBeGreaterThanOrEqual(2);
      },
    });
    expect(run.result.success).toBe(true);
  });

  it('a server that dies by itself leaves no processes behind', async () => {
    const run = await runOverWire({
      script: [{ calls: [call('odd__die')] }, report()],
      definition: { mcpServers: { odd: odd('--with-child') } },
    });
    expect(run.result.success).toBe(true);
  });

  it('a session that gives up on a starting shared server does not affect others, and a closed pool serves no session', async () => {
    const pool = mcpPool({ odd: odd('--slow') });
    const patient = runOverWire({ script: [report()], definition: { mcpServers: pool.servers } });
    const hasty = runOverWire({
      script: [report()],
      definition: { mcpServers: pool.servers, limits: { prepareTimeoutMs: 50 } },
    });
    expect((await hasty).result.slugs).toEqual(['tools_unavailable']);
    expect((await patient).result.success).toBe(true);
    await pool.close();
    const late = await runOverWire({ script: [report()], definition: { mcpServers: pool.servers } });
    expect(late.result).toMatchObject({ success: false, slugs: ['tools_unavailable'] });
    expect(late.result.report.content).toContain('The pool of the MCP server "odd" is closed.');
  });

  it('a pool serves many sessions with one process and ends it on close', async () => {
    const pool = mcpPool({ odd: odd() });
    const one = () =>
      runOverWire({ script: [{ calls: [call('odd__echo')] }, report()], definition: { mcpServers: pool.servers } });
    const runs = await Promise.all([one(), one(), one()]);
    for (const run of runs) expect(run.result.success).toBe(true);
    expect(running()).toHaveLength(1);
    await one();
    expect(running()).toHaveLength(1);
    await pool.close();
  });
});

describe('names', () => {
  it.each([
    ['files', 'read_file', 'files__read_file'],
    ['files', 'read file', /^files__read_file_[0-9a-f]{8}$/],
    ['files', 'x'.repeat(100), /^files__x{48}_[0-9a-f]{8}$/],
    ['files', 'über', /^files___ber_[0-9a-f]{8}$/],
  ])('%s and %s become a name that every provider accepts', (server, name, expected) => {
    const clean = toolName(server, name, new Set());
    expect(clean).toMatch(expected);
    expect(clean).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(toolName(server, name, new Set())).toBe(clean);
  });

  it('two tools with the same name get distinct, stable names', () => {
    const first = toolName('a', 'b__c', new Set());
    const second = toolName('a__b', 'c', new Set([first]));
    expect(first).toBe('a__b__c');
    expect(second).toMatch(/^a__b__c_[0-9a-f]{8}$/);
  });
});
