import { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { listTools } from '../../../src/tools/mcp/list.ts';
import { initialized, listed, ScriptedServer } from '../../support/scripted-server.ts';

/** What is read from a server with these pages of tools, and the cursors that it was asked for. */
async function read(pages: (cursor: unknown) => unknown, capabilities?: object) {
  const cursors: unknown[] = [];
  const server = new ScriptedServer({
    initialize: initialized(capabilities),
    'tools/list': (params?: { cursor?: string }) => {
      cursors.push(params?.cursor);
      return pages(params?.cursor);
    },
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(server);
  try {
    return { ...(await listTools(client, {})), cursors };
  } finally {
    await client.close();
  }
}

const names = (count: number) => Array.from({ length: count }, (_, at) => listed(`t${at}`));

describe('the list of tools of a server', () => {
  it('C-5: a tool has its name, description and schema, and needs neither of the last two', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, $defs: {} };
    const tools = [
      { name: 'whole', description: 'Does it.', inputSchema: schema, title: 'W' },
      { name: 'bare' },
      { name: 'untyped', description: null, inputSchema: { properties: {} } },
    ];
    expect(await read(() => ({ tools }))).toEqual({
      tools: [
        { name: 'whole', description: 'Does it.', inputSchema: schema },
        { name: 'bare', description: '', inputSchema: { type: 'object' } },
        { name: 'untyped', description: '', inputSchema: { type: 'object', properties: {} } },
      ],
      leftOut: [],
      ttlMs: null,
      cursors: [undefined],
    });
  });

  it('C-5: a tool that is malformed is skipped alone, and the reason names the field', async () => {
    const odd = [
      listed(''),
      { inputSchema: {} },
      listed('list', { inputSchema: { type: 'array' } }),
      7,
      listed('good'),
    ];
    const { tools, leftOut } = await read(() => ({ tools: odd }));
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    expect(leftOut).toEqual([
      expect.stringMatching(/^skipped a tool: name Too small.* in \{"name":"","inputSchema":\{"type":"object"\}\}$/),
      expect.stringMatching(/^skipped a tool: name Invalid input.* in \{"inputSchema":\{\}\}$/),
      expect.stringMatching(/^skipped a tool: inputSchema\.type Invalid input.* in \{"name":"list",/),
      expect.stringMatching(/^skipped a tool: {2}Invalid input.* in 7$/),
    ]);
  });

  it('a server without tools is not asked for any', async () => {
    expect(await read(() => ({ tools: names(1) }), { prompts: {} })).toEqual({
      tools: [],
      leftOut: [],
      ttlMs: null,
      cursors: [],
    });
  });

  it('all pages are read, up to the one without a cursor', async () => {
    for (const last of [undefined, null, '']) {
      const { tools, cursors } = await read((cursor) =>
        cursor === undefined
          ? { tools: [listed('one')], nextCursor: 'second' }
          : { tools: [listed('two')], nextCursor: last },
      );
      expect(tools.map(({ name }) => name)).toEqual(['one', 'two']);
      expect(cursors).toEqual([undefined, 'second']);
    }
  });

  it('pages without an end are an error after a thousand', async () => {
    let pages = 0;
    const endless = () => {
      pages += 1;
      return { tools: [], nextCursor: `more-${pages}` };
    };
    await expect(read(endless)).rejects.toThrow('the tool list has more than 1000 pages');
    expect(pages).toBe(1_000);
  });

  it('a cursor that was seen before is the end of the list', async () => {
    let pages = 0;
    const circle = () => {
      pages += 1;
      return { tools: names(2), nextCursor: `at-${pages % 2}` };
    };
    expect((await read(circle)).tools).toHaveLength(2);
    expect(pages).toBe(3);
  });

  it('after 512 tools, the others are skipped, and it says so', async () => {
    expect((await read(() => ({ tools: names(512) }))).leftOut).toEqual([]);
    const { tools, leftOut, cursors } = await read(() => ({ tools: names(513), nextCursor: 'more' }));
    expect(tools).toHaveLength(512);
    expect(leftOut).toEqual(['skipped all tools after the first 512']);
    expect(cursors).toHaveLength(1);
  });

  it('once the list exceeds 4 MiB, that page and the following ones are skipped', async () => {
    const page = (bytes: number, name = 't') => {
      const bare = Buffer.byteLength(JSON.stringify([listed(name, { description: '' })]));
      const description = `é${'x'.repeat(bytes - bare - 2)}`;
      return { tools: [listed(name, { description })], nextCursor: 'more' };
    };
    const half = 2 * 1_024 * 1_024;
    const whole = await read((cursor) => (cursor ? { ...page(half, 'u'), nextCursor: '' } : page(half)));
    expect(whole.tools).toHaveLength(2);
    expect(whole.leftOut).toEqual([]);
    const { tools, leftOut, cursors } = await read((cursor) => page(cursor ? half + 1 : half));
    expect(tools).toHaveLength(1);
    expect(leftOut).toEqual(['skipped all tools after the first 1: the list is larger than 4194304 bytes']);
    expect(cursors).toHaveLength(2);
  });

  it('a tool that is listed twice is skipped: under another name, policies would not know it', async () => {
    const { tools, leftOut } = await read(() => ({ tools: [listed('t'), listed('u'), listed('t')] }));
    expect(tools.map(({ name }) => name)).toEqual(['t', 'u']);
    expect(leftOut).toEqual(['skipped another tool named "t"']);
  });

  it('a description is cut at 4,096 bytes, between two characters, and shows that it was', async () => {
    const described = async (description: string) =>
      (await read(() => ({ tools: [listed('t', { description })] }))).tools[0]?.description;
    expect(await described('x'.repeat(4_096))).toBe('x'.repeat(4_096));
    expect(await described('x'.repeat(4_097))).toBe(`${'x'.repeat(4_096)}…`);
    expect(await described(`${'x'.repeat(4_095)}é`)).toBe(`${'x'.repeat(4_095)}…`);
  });
});
