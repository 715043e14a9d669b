import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ToolError } from '../../src/index.ts';
import { callsOf, oneReply, slugsOf } from '../support/replies.ts';
import { report, runOverWire } from '../support/session.ts';

describe('every tool call is answered', () => {
  it('C-3 C-4 T-2: a failed answer from a tool that throws is counted, published and logged only at debug', async () => {
    const run = await oneReply([{ name: 'failing' }]);
    expect(callsOf(run)[0]).toMatchObject({
      executed: true,
      slug: 'tool_exec_failed',
      result: { success: false, value: null, message: 'the disk is full' },
    });
    expect(run.events.some((event) => event.type === 'tool.answered' && event.slug === 'tool_exec_failed')).toBe(true);
    expect(run.result.counters.toolCalls).toMatchObject({ executed: 1, failed: 1, succeeded: 0 });
    expect(run.lines.filter((line) => line.event === 'tool.threw').map((line) => line.level)).toEqual([20]);
  });

  it.each<[string, object, unknown]>([
    ['without a value', {}, null],
    ['with a value', { value: 7 }, 7],
    ['with one field more', { value: 7, code: 404 }, { value: 7, code: 404 }],
    ['with another field', { code: 404 }, { code: 404 }],
  ])('C-3: a reported failure %s is a failure', async (_what, more, value) => {
    const reporting = () => ({ success: false, message: 'no such row', ...more });
    const run = await oneReply([{ name: 'reporting' }], { tools: { reporting } });
    expect(callsOf(run)[0]).toMatchObject({
      executed: true,
      slug: 'tool_exec_failed',
      result: { success: false, value, message: 'no such row' },
    });
  });

  it.each<[string, () => unknown]>([
    ['Response', () => new Response('x')],
    ['Blob', () => new Blob(['x'])],
    ['File', () => new File(['x'], 'x.txt')],
  ])('C-1 C-3: a %s that nobody read is a failure, and not an empty object', async (kind, make) => {
    const unread = () => make();
    const run = await oneReply([{ name: 'unread' }], { tools: { unread } });
    expect(callsOf(run)[0]).toMatchObject({
      slug: 'tool_exec_failed',
      result: { success: false, message: `The tool returned an unread ${kind}; it must return the content.` },
    });
  });

  it('C-1: a value whose tag cannot be read is answered, too', async () => {
    const odd = () => ({
      plain: 'yes',
      get [Symbol.toStringTag](): string {
        throw new Error('no tag');
      },
    });
    const run = await oneReply([{ name: 'odd' }], { tools: { odd } });
    expect(callsOf(run)[0]).toMatchObject({ executed: true, slug: 'tool_exec_failed', result: { value: null } });
  });

  it('C-3: a structured error from the tool is kept', async () => {
    const strict = tool({
      description: 'Fails with details.',
      inputSchema: z.object({}),
      execute: (): string => {
        throw new ToolError('no such row', { code: 404 });
      },
    });
    const run = await oneReply([{ name: 'strict' }], { tools: { strict } });
    expect(callsOf(run)[0]?.result).toEqual({ success: false, value: { code: 404 }, message: 'no such row' });
    expect(JSON.stringify(run.requests[1]?.body)).toContain('404');
  });

  it('C-1 T-2 D-2: a tool that ignores its signal is answered at its timeout, and its late result is counted and dropped', async () => {
    let finish: (value: string) => void = () => undefined;
    const slow = () => new Promise<string>((resolve) => (finish = resolve));
    const run = await runOverWire({
      script: [{ calls: [{ name: 'slow' }] }, report()],
      definition: { tools: { slow }, limits: { toolTimeoutMs: 30 } },
      during: (event, session) => {
        if (event.type !== 'tool.answered' || event.slug !== 'tool_timeout') return;
        finish('too late');
        expect(session.counters.lateResults).toBe(0);
      },
    });
    expect(slugsOf(run)).toEqual(['tool_timeout']);
    expect(run.result.counters).toMatchObject({ lateResults: 1, toolCalls: { executed: 1, failed: 2 - 1 } });
  });

  it('C-1: every unusual kind of result becomes a clear answer', async () => {
    const cycle: Record<string, unknown> = { name: 'ring' };
    cycle.self = cycle;
    const odd: Record<string, unknown> = {
      nothing: undefined,
      big: { n: 10n },
      cycle,
      error: new Error('returned, not thrown'),
      map: new Map([['a', 1]]),
      callable: () => 1,
      nan: Number.NaN,
      bytes: new Uint8Array(3),
      blank: '',
    };
    const tools = Object.fromEntries(Object.entries(odd).map(([name, value]) => [name, () => value]));
    const run = await oneReply(
      Object.keys(odd).map((name) => ({ name })),
      { tools },
    );
    const answers = Object.fromEntries(callsOf(run).map((call) => [call.name, call.output]));
    expect(answers).toEqual({
      nothing: { type: 'text', value: 'The tool returned nothing.' },
      big: { type: 'text', value: '{"n":"10"}' },
      cycle: { type: 'text', value: '{"name":"ring","self":"[circular]"}' },
      error: { type: 'error-text', value: 'returned, not thrown' },
      map: { type: 'text', value: '[["a",1]]' },
      callable: { type: 'error-text', value: 'The tool returned a function, which cannot be passed on.' },
      nan: { type: 'text', value: 'NaN' },
      bytes: { type: 'text', value: '[binary, 3 bytes]' },
      blank: { type: 'text', value: '(empty)' },
    });
  });

  it('C-1: a 50 MB result is cut to valid UTF-8 within the cap, keeps its head and tail, and marks the cut', async () => {
    const huge = () => `${'ä€😀'.repeat(6_000_000)}the end`;
    const run = await oneReply([{ name: 'huge' }], { tools: { huge }, limits: { toolResultBytes: 4_096 } });
    const output = callsOf(run)[0]?.output;
    const text = output?.type === 'text' ? output.value : '';
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096);
    expect(Buffer.byteLength(text)).toBeGreaterThan(3_900);
    expect(text).toMatch(/^ä€😀.*left out here.*the end$/s);
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain('\uFFFD');
  });

  it('C-1: at most maxConcurrentTools tools run at once', async () => {
    let running = 0;
    let most = 0;
    const counted = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return 'done';
    };
    const calls = Array.from({ length: 9 }, () => ({ name: 'counted' }));
    const run = await oneReply(calls, { tools: { counted }, limits: { maxConcurrentTools: 3 } });
    expect(most).toBe(3);
    expect(run.result.counters.toolCalls.succeeded).toBe(9);
  });
});
