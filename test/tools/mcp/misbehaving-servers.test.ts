import { describe, expect, it } from 'vitest';
import { toolName } from '../../../src/tools/mcp/servers.ts';
import { faultyHttpServer } from '../../support/faulty-mcp.ts';
import { call, odd, running, slugsOf, texts } from '../../support/mcp.ts';
import { callsIn, report, runOverWire } from '../../support/session.ts';

describe.each([['stdio'], ['http']])('a misbehaving server over %s', (wire) => {
  async function withOdd(
    script: Parameters<typeof runOverWire>[0]['script'],
    more: Partial<Parameters<typeof runOverWire>[0]> = {},
  ) {
    await using server = wire === 'http' ? await faultyHttpServer() : null;
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
      definition: { limits: { toolTimeoutMs: 1_500 } },
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

  it('C-1: an aborted call is answered, and its server stops', async () => {
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
