import { describe, expect, it } from 'vitest';
import { bytesOfPart, partBytes } from '../../src/model/reply/part-size.ts';
import { finish, network, requested, said, verdict } from '../support/requests.ts';

describe('B-2: one request, and what comes of it', () => {
  it('carries the prompt and the settings that are set, and no tools if none are offered', async () => {
    const settings = () => ({ temperature: 0.5, topP: undefined, promptCaching: 'off' as const });
    const { asked, built } = await requested([...said('So.'), finish()], { settings });
    expect(asked).toEqual([{ temperature: 0.5, prompt: ['prompt'], abortSignal: expect.any(AbortSignal) }]);
    expect(built).toMatchObject([{ provider: 'p', notice: 'Note.', omit: ['c9'], promptCaching: 'off' }]);
  });

  it('carries the tools that are offered, and counts the marks of functions', async () => {
    const marked = { providerOptions: { p: { cacheControl: { type: 'ephemeral' } } } };
    const tools = [
      { type: 'function', name: 'look', inputSchema: {}, ...marked },
      { type: 'provider', id: 'p.search', name: 'search', args: {}, ...marked },
      { type: 'function', name: 'read', inputSchema: {} },
    ];
    const offered: unknown[] = [];
    const own = (given: unknown) => {
      offered.push(given);
      return tools as never;
    };
    const { asked, built } = await requested([finish()], {
      catalog: {
        offered: own,
        inspect: async () => null as never,
        takesText: () => false,
        isDeferred: () => false,
        inside: () => [],
        together: (all) => all,
      },
    });
    expect(offered).toEqual(['all']);
    expect(asked).toMatchObject([{ tools, toolChoice: { type: 'auto' } }]);
    const [{ markedTools, promptCaching }] = built as [{ markedTools(mark: object): number; promptCaching: string }];
    expect(promptCaching).toBe('auto');
    expect(markedTools({ provider: 'p', option: 'cacheControl', value: {} })).toBe(
      tools.filter(({ name }) => name === 'look').length,
    );
  });

  it('asks for a whole response if the settings say so', async () => {
    const { asked, outcome } = await requested([], { settings: () => ({ streaming: false }) });
    expect(asked).toMatchObject([{ isWhole: true }]);
    expect(outcome.reply?.content).toMatchObject([{ type: 'text', text: 'Whole.' }]);
  });

  it('shows its text as it comes, and its usage and cost at the end', async () => {
    const { outcome, seen, judged } = await requested([...said('So.'), finish()]);
    expect(seen.filter((one) => one !== '')).toEqual(['So.']);
    expect(outcome).toMatchObject({
      fault: null,
      calls: [],
      textReport: verdict,
      measured: { tokens: 12, failed: 10, counted: true, oldText: 0 },
    });
    expect(outcome.usage).toMatchObject({ input: 10, output: 5 });
    expect(outcome.costUsd).toBe(20);
    expect(outcome.reply).toMatchObject({ provider: 'p', content: [{ type: 'text', text: 'So.' }] });
    expect(judged).toEqual([['So.', 0]]);
  });

  it('warnings of the provider are seen with the name of the target', async () => {
    const warnings = [{ type: 'unsupported', feature: 'topK' }];
    const { seen } = await requested([{ type: 'stream-start', warnings }, ...said('So.'), finish()]);
    expect(seen).toContainEqual({ type: 'model.warned', target: 'one', warning: expect.stringContaining('topK') });
  });

  it('leaves no timer behind, whatever came of it', async () => {
    const { alarms } = await requested([...said('So.'), finish()]);
    expect(alarms).toBe(0);
    const failing = [{ name: 'one', model: () => Promise.reject(new Error('No key.')) } as never];
    expect((await requested([], { targets: failing })).alarms).toBe(0);
  });

  it('a request to a target that does not exist is a defect', async () => {
    await expect(requested([], {}, { target: 1 })).rejects.toThrow('no target at index 1');
  });
});

describe('P-1: faults', () => {
  it('a model that cannot be had is a fault, without secrets, and nothing goes out', async () => {
    const targets = [{ name: 'one', model: () => Promise.reject(new Error('hunter2 is wrong')) } as never];
    const { outcome, asked } = await requested([], { targets });
    expect(outcome).toMatchObject({ reply: null, fault: { message: '[redacted] is wrong' }, costUsd: 0, calls: [] });
    expect([asked, outcome.textReport, outcome.usage.input]).toEqual([[], null, 0]);
  });

  it.each<[string, readonly object[], object]>([
    ['ends without a word', [], network('The stream ended without a finish reason.')],
    ['breaks off', said('So'), network('The stream ended without a finish reason.')],
    ['ends with an error', [...said('So'), finish('error')], network('The stream ended with the finish reason error.')],
  ])('a stream that %s has lost its connection', async (_, parts, fault) => {
    const { outcome } = await requested(parts);
    expect(outcome.fault).toEqual(fault);
    expect(outcome.textReport).toBeNull();
    expect(outcome.reply === null).toBe(parts.length === 0);
  });

  it('the first error of a stream is its fault, and what came before it stays', async () => {
    const errors = [
      { type: 'error', error: new Error('hunter2 is full') },
      { type: 'error', error: 'again' },
    ];
    const { outcome } = await requested([...said('So'), ...errors]);
    expect(outcome.fault).toMatchObject({ message: '[redacted] is full' });
    expect(outcome.reply).toMatchObject({ content: [{ text: 'So' }], errors: ['[redacted] is full', 'again'] });
  });

  it('C-5: what fails after a complete reply is no fault', async () => {
    let sent = false;
    const broken = () =>
      new ReadableStream({
        pull(controller) {
          if (sent) controller.error(new Error('reset'));
          else for (const part of [...said('So.'), finish()]) controller.enqueue(part);
          sent = true;
        },
      });
    const { outcome } = await requested(broken);
    expect([outcome.fault, outcome.textReport]).toEqual([null, verdict]);
  });

  it('a reply that is too large is cut off there, and its connection is given up', async () => {
    const signals: AbortSignal[] = [];
    const endless = (signal: AbortSignal) => {
      signals.push(signal);
      let first = true;
      return new ReadableStream({
        pull(controller) {
          if (first) controller.enqueue({ type: 'text-start', id: '0' });
          else controller.enqueue({ type: 'text-delta', id: '0', delta: 'x'.repeat(400) });
          first = false;
        },
      });
    };
    const { outcome, seen } = await requested(endless);
    expect(outcome).toMatchObject({
      fault: null,
      textReport: null,
      reply: { finishReason: { raw: expect.any(String) } },
    });
    expect(outcome.reply?.content).toMatchObject([{ text: 'x'.repeat(1_200) }]);
    expect(seen.filter((one) => one !== '')).toHaveLength(3);
    expect(signals[0]?.aborted).toBe(true);
  });

  it('one of exactly the most bytes is whole', async () => {
    const parts = said('x'.repeat(1_000));
    const size = parts.reduce((sum, part) => sum + Math.max(bytesOfPart, partBytes(part as never)), 0);
    const finishOf = async (replyBytes: number) =>
      (await requested([...parts, finish()], { replyBytes })).outcome.reply?.finishReason?.unified;
    expect([await finishOf(size), await finishOf(size - 1)]).toEqual(['stop', 'other']);
  });
});
