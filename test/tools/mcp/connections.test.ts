import { describe, expect, it } from 'vitest';
import { packageVersion } from '../../../src/platform/version.ts';
import { manualClock } from '../../../src/testing/index.ts';
import type { McpConnection } from '../../../src/tools/mcp/connection.ts';
import { connectionTo, never, runOf } from '../../support/mcp-connection.ts';
import { initialized, listed, ScriptedServer, silence } from '../../support/scripted-server.ts';

const open = (connection: McpConnection, signal = never) => connection.open(5_000, signal);

describe('a connection to a server', () => {
  it('identifies itself, lists the tools, and tells its listeners once', async () => {
    const server = new ScriptedServer({ 'tools/list': { tools: [listed('a'), {}] } });
    const { connection, told } = connectionTo([server]);
    await open(connection);
    await open(connection);
    expect(server.methods()).toEqual(['initialize', 'notifications/initialized', 'tools/list']);
    expect(server.sent[0]?.params).toMatchObject({
      capabilities: {},
      clientInfo: { name: 'pawl', version: packageVersion },
    });
    expect(told).toEqual(['skipped a tool', 'tools a']);
    expect(connection.tools).toEqual([{ name: 'a', description: '', inputSchema: { type: 'object' } }]);
    await connection.close();
    expect(server.closed).toBe(1);
    expect(told).toHaveLength(2);
  });

  it('offers only the handlers that it has, and gives them the parameters', async () => {
    const asked: unknown[] = [];
    const handlers = {
      elicit: (params: unknown) => {
        asked.push(params);
        return { action: 'decline' as const };
      },
    };
    const server = new ScriptedServer();
    const { connection } = connectionTo([server], { handlers });
    await open(connection);
    expect(server.sent[0]?.params).toMatchObject({ capabilities: { elicitation: {} } });
    expect(server.sent[0]?.params?.capabilities).not.toHaveProperty('sampling');
    const params = { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
    server.tell({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params });
    await expect.poll(() => asked).toEqual([expect.objectContaining({ message: 'Who?' })]);
    await connection.close();
  });

  it('a changed list is reported; an unchanged one is not', async () => {
    let tools = [listed('a')];
    let lists = 0;
    const server = new ScriptedServer({
      'tools/list': () => {
        lists += 1;
        return { tools };
      },
    });
    const clock = manualClock();
    const { connection, told } = connectionTo([server], { clock });
    await open(connection);
    server.changed();
    await expect.poll(() => lists).toBe(2);
    tools = [listed('a'), listed('b')];
    // While the pause lasts, further changes are only noted.
    server.changed();
    server.changed();
    await expect.poll(() => server.sent.length).toBe(4);
    clock.advance(100);
    await expect.poll(() => told).toEqual(['tools a', 'tools a,b']);
    expect(lists).toBe(3);
    await connection.close();
  });

  it('a list that cannot be read again leaves the tools as they are', async () => {
    let lists = 0;
    const server = new ScriptedServer({
      'tools/list': () => {
        lists += 1;
        if (lists > 1) throw new Error('no list');
        return { tools: [listed('a')] };
      },
    });
    const { connection, told } = connectionTo([server]);
    await open(connection);
    server.changed();
    await expect.poll(() => told).toEqual(['tools a', 'debug: Error: no list']);
    expect(connection.tools.map(({ name }) => name)).toEqual(['a']);
    server.changed();
    await expect.poll(() => lists).toBe(3);
    await connection.close();
  });

  it('a server that does not answer in time is given up, and its transport closed', async () => {
    const clock = manualClock();
    const server = new ScriptedServer({ initialize: undefined });
    const { connection } = connectionTo([server], { clock });
    const opening = open(connection);
    await expect.poll(() => server.methods()).toEqual(['initialize']);
    clock.advance(4_999);
    clock.advance(1);
    await expect(opening).rejects.toThrow('no answer within 5000 ms');
    await expect.poll(() => server.closed).toBeGreaterThan(0);
    await connection.close();
  });

  it('D-2: an aborted open gives the server up at once', async () => {
    const server = new ScriptedServer({ 'tools/list': () => Promise.reject(silence) });
    const { connection } = connectionTo([server]);
    const controller = new AbortController();
    const opening = open(connection, controller.signal);
    await expect.poll(() => server.methods()).toContain('tools/list');
    controller.abort(new Error('enough'));
    await expect(opening).rejects.toThrow('enough');
    await expect.poll(() => server.closed).toBeGreaterThan(0);
    await connection.close();
  });

  it('a connection attempt shared by several sessions continues when one of them gives up', async () => {
    const answer = Promise.withResolvers<unknown>();
    const server = new ScriptedServer({ initialize: () => answer.promise });
    const { connection } = connectionTo([server]);
    const controller = new AbortController();
    const one = connection.open(5_000, controller.signal, true);
    const other = connection.open(5_000, never, true);
    await expect.poll(() => server.methods()).toEqual(['initialize']);
    controller.abort(new Error('enough'));
    await expect(one).rejects.toThrow('enough');
    answer.resolve(initialized());
    await other;
    expect(server.closed).toBe(0);
    await connection.close();
  });

  it('if it is closed while a session waits for it, the error says so', async () => {
    const server = new ScriptedServer({ initialize: undefined });
    const { connection } = connectionTo([server]);
    const opening = expect(connection.open(5_000, never, true)).rejects.toThrow('closed before it answered');
    await expect.poll(() => server.methods()).toEqual(['initialize']);
    await connection.close();
    await opening;
    expect(server.closed).toBeGreaterThan(0);
  });

  it('if it is closed during the backoff after a failed attempt, the error says so too', async () => {
    const refusing = new ScriptedServer({ initialize: () => Promise.reject('no') });
    const { connection } = connectionTo([refusing], { clock: manualClock() });
    await expect(connection.open(5_000, never, true)).rejects.toThrow('no');
    const opening = expect(connection.open(5_000, never, true)).rejects.toThrow('closed before it answered');
    await new Promise(setImmediate);
    await connection.close();
    await opening;
  });

  it('a closed connection is not opened again, and after closing, listeners hear nothing more', async () => {
    const server = new ScriptedServer();
    const { connection, told, stop } = connectionTo([server, new ScriptedServer()]);
    await open(connection);
    await connection.close();
    await expect(open(connection)).rejects.toThrow('already closed');
    await expect(connection.call('a', {}, runOf().run)).rejects.toThrow('docs is not available: already closed');
    stop();
    expect(told).toEqual([]);
  });
});
