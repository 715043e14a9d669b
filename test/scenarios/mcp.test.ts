import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type McpServerConfig, mcpPool } from '../../src/index.ts';
import { toolName } from '../../src/tools/mcp/servers.ts';
import { oddHttpServer } from '../support/odd-mcp.ts';
import { callsIn, counters, type Run, report, runOverWire, tokensOf } from '../support/session.ts';

const packageFile = (name: string) => createRequire(import.meta.url).resolve(name);
const everything = {
  command: process.execPath,
  args: [packageFile('@modelcontextprotocol/server-everything/dist/index.js')],
};
const oddFile = join(import.meta.dirname, '../support/odd-mcp.ts');
/** Identifies this file's servers in the process list. */
const mark = `pawl-test-${process.pid}`;
const odd = (...flags: string[]): McpServerConfig => ({
  command: process.execPath,
  args: [oddFile, '--stdio', mark, ...flags],
});
const call = (name: string, input: unknown = {}) => ({ name, input });

/** Lists the processes of this file's servers and their process groups. */
function running(): string[] {
  const lines = execFileSync('ps', ['-eo', 'pid,pgid,args'], { encoding: 'utf8' }).split('\n');
  const leaders = lines.filter((line) => line.includes(mark) && !line.includes('vitest'));
  const groups = leaders.map((line) => line.trim().split(/\s+/)[1]);
  return lines.filter((line) => groups.includes(line.trim().split(/\s+/)[1]));
}

const texts = (run: Run) =>
  callsIn(run.result).map(({ output }) =>
    output.type === 'text' || output.type === 'error-text' ? output.value : output.type,
  );
const slugsOf = (run: Run) => callsIn(run.result).map(({ slug }) => slug);

describe('real servers', () => {
  it('everything: text, numbers, structured content, images, resources and links become results for the model', async () => {
    const run = await runOverWire({
      script: [
        {
          calls: [
            call('every__echo', { message: 'hello' }),
            call('every__get-sum', { a: 2, b: 3 }),
            call('every__get-structured-content', { location: 'Chicago' }),
            call('every__get-tiny-image'),
            call('every__get-resource-links', { count: 2 }),
            call('every__get-resource-reference', { resourceType: 'Text', resourceId: 1 }),
          ],
        },
        { calls: [call('every__echo', { message: 7 }), call('every__nope'), call('every__echo', '{"message')] },
        report(),
      ],
      definition: { mcpServers: { every: everything } },
    });
    const [echo, sum, structured, image, links, resource] = callsIn(run.result);
    expect(echo?.output).toEqual({ type: 'text', value: 'Echo: hello' });
    expect(sum?.output).toMatchObject({ value: expect.stringContaining('5') });
    expect(structured?.result.value).toMatchObject({ temperature: expect.any(Number) });
    expect(image?.output.type === 'content' && image.output.value.find((part) => part.type === 'file')).toMatchObject({
      mediaType: 'image/png',
    });
    expect(JSON.stringify(links?.output)).toContain('[resource ');
    expect(JSON.stringify(resource?.output)).toContain('[resource demo://');
    expect(slugsOf(run).slice(6, 9)).toEqual(['invalid_tool_input', 'unknown_tool', 'malformed_tool_call']);
    expect(run.result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 3,
        failedAttempts: 1,
        notices: 1,
        toolCalls: {
          requested: 10,
          answered: 10,
          executed: 6,
          succeeded: 6,
          acknowledged: 1,
          rejected: { invalid_tool_input: 1, unknown_tool: 1, malformed_tool_call: 1 },
        },
        reports: { attempted: 1 },
        tokens: tokensOf(3),
        costUsd: null,
        slugs: { invalid_tool_input: 1, unknown_tool: 1, malformed_tool_call: 1 },
      }),
    );
    expect(run.events.filter((event) => event.type === 'server.connected')).toHaveLength(1);
  });

  it('everything: progress becomes events, and a timeout cancels the call', async () => {
    const run = await runOverWire({
      script: [
        { calls: [call('every__trigger-long-running-operation', { duration: 0.2, steps: 2 })] },
        { calls: [call('every__trigger-long-running-operation', { duration: 60, steps: 1 })] },
        report(),
      ],
      definition: { mcpServers: { every: everything }, limits: { toolTimeoutMs: 1_500 } },
    });
    expect(run.events.filter((event) => event.type === 'tool.progressed').length).toBeGreaterThan(0);
    expect(slugsOf(run)).toEqual([null, 'tool_timeout', null]);
  });

  it('everything: the handlers answer requests from the server', async () => {
    const asked: string[] = [];
    const handlers: McpServerConfig['handlers'] = {
      sample: ({ messages }) => {
        asked.push(JSON.stringify(messages));
        return { model: 'm', role: 'assistant', content: { type: 'text', text: 'a sampled answer' } };
      },
      elicit: ({ message }) => {
        asked.push(message);
        return { action: 'decline' };
      },
    };
    const run = await runOverWire({
      script: [
        { calls: [call('every__trigger-sampling-request', { prompt: 'why?', maxTokens: 9 })] },
        { calls: [call('every__trigger-elicitation-request', {})] },
        report(),
      ],
      definition: { mcpServers: { every: { ...everything, handlers } } },
    });
    expect(slugsOf(run)).toEqual([null, null, null]);
    expect(asked).toEqual([expect.stringContaining('why?'), expect.stringMatching(/./)]);
    expect(texts(run)[0]).toContain('a sampled answer');
    expect(texts(run)[1]).toContain('decline');
  });

  it('filesystem: listing and reading work, an error is a failed result, and allow, deny and needsApproval apply', async () => {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-mcp-')));
    writeFileSync(join(home, 'a.txt'), 'the content');
    const files: McpServerConfig = {
      command: process.execPath,
      args: [packageFile('@modelcontextprotocol/server-filesystem/dist/index.js'), home],
      cwd: home,
      allow: ['list_directory', 'read_text_file', 'write_file'],
      deny: ['write_file'],
      needsApproval: ['read_text_file'],
    };
    const run = await runOverWire({
      script: [
        {
          calls: [call('files__list_directory', { path: '.' }), call('files__write_file', { path: 'b', content: '' })],
        },
        { calls: [call('files__read_text_file', { path: 'a.txt' }), call('files__list_directory', { path: '/' })] },
        report(),
      ],
      definition: { mcpServers: { files } },
      during: (event, session) => {
        if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: true });
      },
    });
    expect(run.requests[0]?.body.tools?.map((one) => one.function?.name)).toEqual([
      'final_report',
      'files__read_text_file',
      'files__list_directory',
    ]);
    expect(slugsOf(run)).toEqual([null, 'unknown_tool', null, 'tool_exec_failed', null]);
    expect(texts(run)[0]).toContain('[FILE] a.txt');
    expect(texts(run)[2]).toContain('the content');
    expect(texts(run)[3]).toContain('denied');
  });
});

describe.each([['stdio'], ['http']])('a misbehaving server over %s', (wire) => {
  async function withOdd(
    script: Parameters<typeof runOverWire>[0]['script'],
    more: Partial<Parameters<typeof runOverWire>[0]> = {},
  ) {
    await using server = wire === 'http' ? await oddHttpServer() : null;
    const config = server === null ? odd() : { url: server.url };
    return await runOverWire({ script, ...more, definition: { mcpServers: { odd: config }, ...more.definition } });
  }

  it('C-1: each call gets exactly one answer, whatever the server does', async () => {
    const names = [
      'echo',
      'twice',
      'refuse',
      'empty',
      'odd_result',
      'late',
      ...(wire === 'stdio' ? ['flood', 'garbage'] : []),
    ];
    const whole = (name: string) => (name === 'odd_result' ? toolName('odd', 'odd result', new Set()) : `odd__${name}`);
    const run = await withOdd([{ calls: names.map((name) => call(whole(name), { text: 'x' })) }, report()]);
    expect(slugsOf(run)).toEqual([
      null,
      null,
      'tool_exec_failed',
      null,
      'tool_exec_failed',
      null,
      ...(wire === 'stdio' ? [null, null] : []),
      null,
    ]);
    expect(texts(run).slice(0, 4)).toEqual([
      'echo: {"text":"x"}',
      'once',
      'it cannot be done',
      'The tool returned an empty result.',
    ]);
    if (wire === 'stdio') {
      expect(run.lines.some((line) => line.level === 20 && line.event === 'server.said')).toBe(true);
    }
  });

  it('structured content is added to a text that differs from it and omitted if the text repeats it', async () => {
    const run = await withOdd([{ calls: [call('odd__summary'), call('odd__same')] }, report()]);
    expect(texts(run).slice(0, 2)).toEqual(['Found 2 users.\n{"users":["ann","bob"]}', '{ "a": 1 }']);
    expect(callsIn(run.result)[0]?.result.value).toEqual({ users: ['ann', 'bob'] });
  });

  it('C-1 C-3: a server error with any code answers its own call and no other', async () => {
    const run = await withOdd([{ calls: [call('odd__hang'), call('odd__busy')] }, report()], {
      definition: { limits: { toolTimeoutMs: 300 } },
    });
    expect(slugsOf(run)).toEqual(['tool_timeout', 'tool_exec_failed', null]);
    expect(texts(run)[1]).toContain('Quota exceeded: try again in 60 s');
    expect(run.events.filter(({ type }) => type === 'server.lost')).toEqual([]);
  });

  it('C-1: if the server dies during a call, the call is answered and the next one works', async () => {
    const run = await withOdd([
      { calls: [call('odd__die')] },
      { calls: [call('odd__echo', { text: 'again' })] },
      report(),
    ]);
    expect(slugsOf(run)).toEqual(['tool_exec_failed', null, null]);
    expect(texts(run)[0]).toContain('Lost the server odd during the call');
    expect(texts(run)[1]).toBe('echo: {"text":"again"}');
    expect(run.events.some((event) => event.type === 'server.lost')).toBe(true);
  });

  it('C-1: a hung call is answered at its timeout and does not delay the others', async () => {
    const run = await withOdd([{ calls: [call('odd__hang'), call('odd__echo')] }, report()], {
      definition: { limits: { toolTimeoutMs: 300 } },
    });
    expect(slugsOf(run)).toEqual(['tool_timeout', null, null]);
  });

  it('C-1: an abort during a call answers it and ends the server', async () => {
    const run = await withOdd([{ calls: [call('odd__hang')] }], {
      during: (event, session) => {
        if (event.type === 'tool.started') setImmediate(() => session.abort());
      },
    });
    expect(slugsOf(run)).toEqual(['aborted']);
    expect(running()).toEqual([]);
  });

  it('a 50 MB result is cut to fit', async () => {
    const run = await withOdd([{ calls: [call('odd__huge')] }, report()]);
    expect(slugsOf(run)).toEqual([null, null]);
    expect(texts(run)[0]?.length).toBeLessThanOrEqual(65_536);
    expect(texts(run)[0]).toContain('of 50000000 bytes left out');
  });

  it('a changed tool list is offered with the next request', async () => {
    if (wire === 'http') return; // The HTTP test server has no stream for notifications.
    const run = await withOdd(
      ({ body }, index) => {
        const answers = JSON.stringify(body.messages);
        if (answers.includes('added: ')) return report();
        if (index === 0) return { calls: [call('odd__change')] };
        // The new list arrives asynchronously. Until then the model calls another tool.
        const isOffered = body.tools?.some((tool) => tool.function?.name === 'odd__added') === true;
        return { calls: [call(isOffered ? 'odd__added' : 'odd__echo')] };
      },
      { definition: { limits: { maxTurns: 500 } } },
    );
    expect(run.events.some((event) => event.type === 'server.toolsChanged')).toBe(true);
    expect(new Set(slugsOf(run))).toEqual(new Set([null]));
    expect(run.result.success).toBe(true);
  });

  it('C-1: calls over the limit are refused', async () => {
    const run = await withOdd([{ calls: [call('odd__echo'), call('odd__echo')] }, report()], {
      definition: { limits: { maxToolCallsPerTurn: 1 } },
    });
    expect(slugsOf(run)).toEqual([null, 'tool_limit', null]);
  });
});

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
      expect(failed.result.counters).toEqual(counters({ slugs: { tools_unavailable: 1 } }));
      const optional = { ...definition, mcpServers: { missing: { ...config, optional: true } } };
      const gone = await runOverWire({ script: [report()], definition: optional });
      expect(gone.result.success).toBe(true);
      expect(gone.events.some((event) => event.type === 'server.unavailable')).toBe(true);
      expect(gone.lines.filter((line) => line.level === 30)).toHaveLength(1);
      expect(running()).toEqual([]);
    },
  );

  it('D-2: an abort while a server starts ends both', async () => {
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

it('D-2: servers that neither start nor stop do not keep a session from ending', async () => {
  await using server = await oddHttpServer({ deaf: true });
  const never = () => new Promise<never>(() => undefined);
  const run = await runOverWire({
    script: [report()],
    definition: {
      mcpServers: {
        deaf: { url: server.url },
        mute: { transport: () => ({ start: never, send: never, close: never }), optional: true },
      },
      limits: { prepareTimeoutMs: 300 },
    },
  });
  expect(run.result.success).toBe(true);
  expect(run.lines.filter(({ line }) => line === 'closing took more than 3000 ms').length).toBeGreaterThan(0);
}, 15_000);

describe('tool lists', () => {
  it('C-5: an unusable tool is left out and reported, and the others stay', async () => {
    const run = await runOverWire({
      script: [{ calls: [call('odd__hollow'), call('odd__wrong'), call('odd__later', { a: 1 })] }, report()],
      definition: { mcpServers: { odd: { ...odd(), deny: ['nonesuch'] } as McpServerConfig } },
    });
    expect(slugsOf(run)).toEqual([null, 'unknown_tool', 'unknown_tool', null]);
    const said = run.lines.flatMap((line) => (line.level === 30 ? [String(line.line)] : []));
    expect(said.join('\n')).toMatch(/skipped later/);
    expect(said.join('\n')).toMatch(/name nonesuch, but it has no such tool/);
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
    expect(late.result.success).toBe(false);
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
