import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { type McpServerDefinition, mcpPool } from '../../../src/tools/mcp/pool.ts';
import { McpServers, toolName } from '../../../src/tools/mcp/servers.ts';
import { listed, ScriptedServer } from '../../support/scripted-server.ts';

const serverOf = (tools: object[], more: object = {}) =>
  new ScriptedServer({ 'tools/list': () => ({ tools: [...tools] }), ...more });
const never = new AbortController().signal;

/** The servers of a session, and what the session was told of them. */
function serversOf(definitions: Record<string, McpServerDefinition>) {
  const told: unknown[] = [];
  let changes = 0;
  const servers = new McpServers(definitions, {
    clock: systemClock,
    sight: (sighting) => told.push(sighting),
    debug: (server, line) => told.push(`debug ${server}: ${line}`),
    info: (server, line) => told.push(`info ${server}: ${line}`),
    onChange: () => {
      changes += 1;
    },
  });
  return { servers, told, open: () => servers.open(5_000, never), changes: () => changes };
}

describe('the tools of MCP servers', () => {
  it('are named after their server, and are checked, described and called as the server says', async () => {
    const inputSchema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    const transport = serverOf([{ name: 'find', description: 'Finds.', inputSchema }], {
      'tools/call': { content: [{ type: 'text', text: 'found' }] },
    });
    const { servers, told, open } = serversOf({ docs: { transport } });
    expect(await open()).toBe(null);
    expect(told).toEqual([{ type: 'server.connected', server: 'docs', tools: ['find'] }]);
    const [tool, ...others] = servers.tools(new Set());
    expect(others).toEqual([]);
    expect(tool).toMatchObject({ name: 'docs__find', server: 'docs', kind: 'real' });
    expect(tool).not.toHaveProperty('afterCrash');
    expect(await tool?.offered).toMatchObject({ name: 'docs__find', description: 'Finds.', inputSchema });
    expect(await tool?.validate({ a: 'x' })).toEqual({ valid: true, value: { a: 'x' } });
    expect(await tool?.validate({})).toMatchObject({ valid: false });
    expect(tool?.needsApproval?.(Object({}), Object({}))).toBe(false);
    const value = await tool?.execute({ a: 'x' }, Object({ signal: never, progress: () => {}, takeTask: () => null }));
    expect(await tool?.toModelOutput?.(value, {}, Object({}))).toEqual({ type: 'text', value: 'found' });
    expect(await tool?.toModelOutput?.(7, {}, Object({}))).toEqual({ type: 'text', value: '7' });
    expect(transport.sent.at(-1)?.params).toMatchObject({ name: 'find', arguments: { a: 'x' } });
    await servers.close();
    expect(transport.closed).toBe(1);
  });

  it('allow and deny filter them, and names that match no tool are reported', async () => {
    const tools = [listed('a'), listed('b'), listed('c')];
    const { servers, told, open } = serversOf({
      one: { transport: serverOf(tools), allow: ['a', 'b', 'x'], deny: ['b', 'y'] },
      two: { transport: serverOf(tools), deny: ['a'], needsApproval: ['z'], idempotent: ['w'] },
    });
    await open();
    expect(servers.tools(new Set()).map(({ name }) => name)).toEqual(['one__a', 'two__b', 'two__c']);
    const notOf = (server: string, tool: string) =>
      `info ${server}: the options for server ${server} list ${tool}, but it has no such tool`;
    expect(told).toEqual(
      expect.arrayContaining([
        notOf('one', 'x'),
        notOf('one', 'y'),
        notOf('two', 'z'),
        notOf('two', 'w'),
        { type: 'server.connected', server: 'one', tools: ['a'] },
        { type: 'server.connected', server: 'two', tools: ['b', 'c'] },
      ]),
    );
    expect(told).toHaveLength(6);
    await servers.close();
  });

  it.each([
    [undefined, [false, false]],
    [true, [true, true]],
    [false, [false, false]],
    [['b'], [false, true]],
  ])('needsApproval and idempotent: %j', async (some, expected) => {
    const transport = serverOf([listed('a'), listed('b')]);
    const { servers, open } = serversOf({
      docs: { transport, ...(some !== undefined && { needsApproval: some, idempotent: some }) },
    });
    await open();
    const tools = servers.tools(new Set());
    expect(tools.map((tool) => tool.needsApproval?.(Object({}), Object({})))).toEqual(expected);
    expect(tools.map(({ afterCrash }) => afterCrash === 'repeat')).toEqual(expected);
    await servers.close();
  });

  it('C-5: a tool with an unusable schema is left out and reported', async () => {
    const odd = { type: 'object', properties: { a: { $ref: '#/$defs/missing' } } };
    const { servers, told, open } = serversOf({
      docs: { transport: serverOf([listed('a'), listed('b', { inputSchema: odd }), listed('c')]) },
    });
    await open();
    for (let time = 0; time < 2; time += 1) {
      expect(servers.tools(new Set()).map(({ name }) => name)).toEqual(['docs__a', 'docs__c']);
      expect(told.at(-1)).toMatch(/^info docs: skipped b: its input schema cannot be used: /);
    }
    await servers.close();
  });

  it('a list that changes after opening is reported, and its new tools are offered', async () => {
    const tools = [listed('a')];
    const transport = serverOf(tools);
    const { servers, told, open, changes } = serversOf({ docs: { transport } });
    await open();
    expect(changes()).toBe(0);
    tools.push(listed('b'));
    transport.changed();
    await expect.poll(changes).toBe(1);
    expect(told.at(-1)).toEqual({ type: 'server.toolsChanged', server: 'docs', tools: ['a', 'b'] });
    expect(servers.tools(new Set()).map(({ name }) => name)).toEqual(['docs__a', 'docs__b']);
    transport.onclose?.();
    expect(told.at(-1)).toEqual({ type: 'server.lost', server: 'docs', message: 'the connection was closed' });
    await servers.close();
  });

  it('a required server that is unavailable is reported at once, without waiting for the others', async () => {
    const hanging = new ScriptedServer({ initialize: undefined });
    const { servers, told, open } = serversOf({
      slow: { transport: hanging },
      gone: { transport: () => new ScriptedServer({ initialize: () => Promise.reject('no') }) },
    });
    expect(await open()).toBe('the MCP server gone is unavailable: no');
    expect(told).toEqual([]);
    await servers.close();
    expect(hanging.closed).toBeGreaterThan(0);
  });

  it('an optional server that is unavailable is reported, and the session continues', async () => {
    const { servers, told, open } = serversOf({
      gone: { transport: () => new ScriptedServer({ initialize: () => Promise.reject('no') }), optional: true },
      docs: { transport: serverOf([listed('a')]) },
    });
    expect(await open()).toBe(null);
    expect(told).toEqual(
      expect.arrayContaining([
        { type: 'server.unavailable', server: 'gone', message: 'no' },
        'info gone: the optional MCP server gone is unavailable: no',
        { type: 'server.connected', server: 'docs', tools: ['a'] },
      ]),
    );
    expect(servers.tools(new Set()).map(({ name }) => name)).toEqual(['docs__a']);
    await servers.close();
  });
});

describe('the name of a tool', () => {
  it('joins the names of server and tool, if the result is valid and not taken', () => {
    expect(toolName('docs', 'find-all_9', new Set())).toBe('docs__find-all_9');
    expect(toolName('d', 'x'.repeat(61), new Set())).toBe(`d__${'x'.repeat(61)}`);
  });

  it.each([
    ['is not allowed', 'find all', 'docs__find_all_'],
    ['is too long', 'x'.repeat(59), `docs__${'x'.repeat(49)}_`],
  ])('ends in a hash if the joined name %s', (_, tool, start) => {
    const name = toolName('docs', tool, new Set());
    expect(name).toMatch(new RegExp(`^${start}[0-9a-f]{8}$`));
    expect(name.length).toBeLessThanOrEqual(64);
    expect(toolName('docs', tool, new Set())).toBe(name);
  });

  it('differs for each tool of the same name', () => {
    const taken = new Set<string>();
    for (let copy = 0; copy < 4; copy += 1) taken.add(toolName('docs', 'find', taken));
    expect(taken.size).toBe(4);
    expect([...taken][0]).toBe('docs__find');
    for (const name of [...taken].slice(1)) expect(name).toMatch(/^docs__find_[0-9a-f]{8}$/);
    expect(toolName('docs', 'find\n2', taken)).not.toBe([...taken][2]);
  });
});

describe('a pool of servers', () => {
  it('connects each server once, and keeps it until the pool is closed', async () => {
    let made = 0;
    const tools = [listed('a')];
    const transport = serverOf(tools);
    await using pool = mcpPool({
      docs: {
        transport: () => {
          made += 1;
          return transport;
        },
      },
      other: { transport: serverOf([]) },
    });
    const { docs } = pool.servers;
    expect(Object.keys(pool.servers)).toEqual(['docs', 'other']);
    await pool.open();
    const sessions = [
      serversOf({ mine: docs as McpServerDefinition }),
      serversOf({ docs: docs as McpServerDefinition }),
    ];
    for (const { servers, told, open } of sessions) {
      expect(await open()).toBe(null);
      expect(told).toEqual([expect.objectContaining({ type: 'server.connected', tools: ['a'] })]);
      expect(servers.tools(new Set())).toHaveLength(1);
    }
    const [first, second] = sessions;
    await first?.servers.close();
    tools.push(listed('b'));
    transport.changed();
    await expect.poll(() => second?.changes()).toBe(1);
    expect(first?.changes()).toBe(0);
    expect([made, transport.closed]).toEqual([1, 0]);
    await pool.close();
    expect(transport.closed).toBe(1);
    expect(() => serversOf({ docs: docs as McpServerDefinition })).toThrow(
      'The pool of the MCP server "docs" is closed.',
    );
  });

  it('a server that cannot be connected is an error, and so is one that is invalid', async () => {
    const pool = mcpPool({ docs: { transport: () => new ScriptedServer({ initialize: () => Promise.reject('no') }) } });
    await expect(pool.open()).rejects.toThrow('no');
    await pool.close();
    expect(() => mcpPool({ docs: Object({}) })).toThrow('`mcpServers.docs` must be an object');
  });
});
