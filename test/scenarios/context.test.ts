import { tool } from 'ai';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { InputMessage } from '../../src/index.ts';
import type { RecordedRequest, ScriptedResponse } from '../../src/testing/index.ts';
import { asksForSummary } from '../support/long-talk.ts';
import { callsIn, counters, type Run, report, runOverWire, tokensOf } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

/** Counts a request as a tokenizer would: every text that is sent, at four bytes each, and 1,600 for a picture. */
function tokensIn({ body }: RecordedRequest): number {
  let tokens = Buffer.byteLength(JSON.stringify(body.tools ?? [])) / 4;
  const add = (value: unknown): void => {
    if (typeof value === 'string') tokens += Buffer.byteLength(value) / 4;
    else if (Array.isArray(value)) for (const item of value) add(item);
    else if (typeof value !== 'object' || value === null) return;
    else if ('image_url' in value) tokens += 1_600;
    else for (const item of Object.values(value)) add(item);
  };
  for (const { role: _, ...message } of body.messages) add(message);
  return Math.ceil(tokens);
}

const omissions = ({ events }: Run) =>
  events.flatMap((event) => (event.type === 'results.omitted' ? [event.callIds] : []));
const collapses = ({ events }: Run) =>
  events.flatMap((event) => (event.type === 'session.collapsed' ? [event.reason] : []));

describe('the context guard', () => {
  const large = () => 'x'.repeat(4_000);
  const call = { calls: [{ name: 'large' }] };
  const wordy = tool({ description: 'y'.repeat(8_000), inputSchema: z.object({}), execute: () => 'found' });

  it('T-6: the oldest results are left out, every call keeps its answer, and the prefix rarely changes', async () => {
    const script = Array.from({ length: 6 }, (_, index) => ({
      ...call,
      usage: { input: 600 + 1_000 * Math.min(index, 3), output: 5 },
    }));
    const run = await runOverWire({
      script: [...script, report()],
      definition: { tools: { large }, limits: { contextWindow: 6_000 } },
    });
    const left = run.requests.map(({ body }) => JSON.stringify(body.messages).split('was left out').length - 1);
    expect(left[0]).toBe(0);
    expect(left.at(-1)).toBeGreaterThan(1);
    expect(left).toEqual(left.toSorted((a, b) => a - b));
    expect(new Set(left).size).toBeLessThan(left.length);
    expect(run.result.success).toBe(true);
    expect(JSON.stringify(run.result.conversation)).not.toContain('was left out');
    expect(omissions(run).flat()).toHaveLength(left.at(-1) ?? 0);
    expect(run.lines.filter(({ event }) => event === 'results.omitted')).toHaveLength(omissions(run).length);
  });

  it('T-6 B-4: when leaving results out would not help for long, the next turn is the last', async () => {
    const run = await runOverWire({
      script: [{ ...searchCall, usage: { input: 2_750, output: 5 } }, report()],
      definition: { tools: { search }, limits: { contextWindow: 4_000 } },
    });
    expect(collapses(run)).toEqual(['context_guard']);
    expect(run.result.turns[1]?.attempts[0]?.notice).toContain('the conversation fills the context window');
    expect(run.result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        notices: 1,
        collapses: 1,
        toolCalls: { requested: 2, answered: 2, executed: 1, succeeded: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: { input: 2_760, output: 10 },
        costUsd: null,
      }),
    );
  });

  it.each([
    ['a prompt', { options: { prompt: 'y'.repeat(8_000) } }],
    ['instructions', { definition: { instructions: 'y'.repeat(8_000) } }],
    ['a schema', { definition: { tools: { search: wordy } } }],
  ])('T-6: %s beyond the window ends the session before a request, as context_guard', async (_what, parts) => {
    const { result, requests, warnings } = await runOverWire({
      script: [report()],
      ...parts,
      definition: { limits: { contextWindow: 2_000 }, ...('definition' in parts ? parts.definition : {}) },
    });
    expect(requests).toEqual([]);
    expect(warnings).toEqual([]);
    expect(result.slugs).toEqual(['context_guard']);
    expect(result.failure?.detail).toMatch(
      /^The next request may take \d+ tokens, and the context window has room for 1500\.$/,
    );
    expect(result.report.content).toContain('limits.contextWindow');
    expect(result.counters).toEqual(counters({ turns: 1, collapses: 1, slugs: { context_guard: 1 } }));
  });

  it('T-6: a fresh result that does not fit is replaced by its size and how to read it', async () => {
    const read = ({ body }: RecordedRequest) => /id (call_\w+)\./.exec(JSON.stringify(body.messages))?.[1];
    const text = Array.from({ length: 400 }, (_, line) => `line ${line}`).join('\n');
    const run = await runOverWire({
      script: (request, index) => {
        if (index === 0) return { calls: Array.from({ length: 6 }, () => ({ name: 'large' })) };
        if (index === 1) return { calls: [{ name: 'read_result', input: { id: read(request) } }] };
        return report();
      },
      definition: {
        tools: { large: () => text },
        builtIns: { readResult: true },
        limits: { contextWindow: 4_000 },
      },
    });
    expect(run.result.success).toBe(true);
    const stubs = run.requests[1]?.body.messages.filter(({ content }) => String(content).includes('was left out'));
    expect(stubs?.length).toBeGreaterThan(1);
    expect(stubs?.[0]?.content).toMatch(
      /^\[This result, of about \d+ tokens, was left out, .* Read it in pages with read_result, id call_\w+\.\]$/,
    );
    expect(callsIn(run.result).at(-2)?.output).toMatchObject({
      type: 'text',
      value: expect.stringMatching(/^\[page 1 of \d+ of call_\w+\]\nline 0\nline 1\n/),
    });
    expect(omissions(run)[0]).toHaveLength(stubs?.length ?? 0);
  });

  it('T-6: a picture is counted as one, not as the text of its encoding', async () => {
    const picture = { type: 'image' as const, image: Buffer.alloc(700_000), mediaType: 'image/png' };
    const messages: InputMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, picture] }];
    const { result } = await runOverWire({
      script: [searchCall, report()],
      definition: { tools: { search }, limits: { contextWindow: 16_000 } },
      options: { messages },
    });
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        toolCalls: { requested: 2, answered: 2, executed: 1, succeeded: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
      }),
    );
  });

  it('T-6: steering counts too', async () => {
    for (const moment of ['session.prepared', 'attempt.started', 'tool.started']) {
      const { result, requests } = await runOverWire({
        script: [searchCall, report()],
        definition: { tools: { search }, limits: { contextWindow: 4_000 } },
        during: (event, session) => {
          if (event.type === moment) session.steer('y'.repeat(20_000));
        },
      });
      expect(requests).toHaveLength(1);
      expect(result.slugs).toEqual(['context_guard']);
    }
  });

  it('T-6: a session whose report is rejected in a full window says context_guard', async () => {
    const { result } = await runOverWire({
      script: [{ ...searchCall, usage: { input: 2_750, output: 5 } }, {}],
      definition: { tools: { search }, limits: { contextWindow: 4_000, maxRetries: 2 } },
    });
    expect(result.slugs).toEqual(['retries_exhausted', 'max_turns_exhausted', 'context_guard', 'empty_response']);
    expect(result.report.content).toContain('limits.contextWindow');
  });

  it('T-6: no request is beyond the window, for any history and an error of the estimate up to 25 %', async () => {
    const size = fc.nat(6_000);
    const turn = fc.record({
      results: fc.array(size, { maxLength: 5 }),
      text: fc.nat(1_500),
      isEmpty: fc.boolean(),
      steering: fc.option(fc.nat(3_000), { freq: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          window: fc.integer({ min: 3_000, max: 12_000 }),
          error: fc.double({ min: -0.25, max: 0.25, noNaN: true }),
          counts: fc.boolean(),
          instructions: fc.nat(2_000),
          history: fc.array(size, { maxLength: 4 }),
          readResult: fc.boolean(),
          compact: fc.constantFrom(undefined, 'summary' as const, 'drop' as const),
        }),
        fc.array(turn, { minLength: 1, maxLength: 6 }),
        async ({ window, error, counts, instructions, history, readResult, compact }, turns) => {
          const real = (request: RecordedRequest) => Math.ceil(tokensIn(request) * (1 + error));
          let attempts = 0;
          const script = (request: RecordedRequest): ScriptedResponse => {
            if (asksForSummary(request)) return { text: 'x'.repeat(900), usage: { input: real(request), output: 0 } };
            const next = turns[attempts++];
            const usage = counts ? { input: real(request), output: 0 } : { input: 0, output: 0 };
            if (next === undefined) return { ...report(), usage };
            if (next.isEmpty) return { usage };
            const output = counts ? Math.ceil(((next.text + 60 * next.results.length) / 4) * (1 + error)) : 0;
            const calls = next.results.map((length) => ({ name: 'sized', input: { length } }));
            return { text: 't'.repeat(next.text), calls, usage: { ...usage, output } };
          };
          const messages: InputMessage[] = [
            { role: 'user', content: 'Begin.' },
            ...history.flatMap((length, index): InputMessage[] => [
              {
                role: 'assistant',
                content: [{ type: 'tool-call', toolCallId: `h${index}`, toolName: 'sized', input: {} }],
              },
              {
                role: 'tool',
                content: [
                  {
                    type: 'tool-result',
                    toolCallId: `h${index}`,
                    toolName: 'sized',
                    output: { type: 'text', value: 'h'.repeat(length) },
                  },
                ],
              },
            ]),
          ];
          let steered = 0;
          const { requests } = await runOverWire({
            script,
            definition: {
              tools: { sized: (input) => 'r'.repeat(Number((input as { length: number }).length)) },
              instructions: 'i'.repeat(instructions),
              builtIns: { readResult },
              ...(compact !== undefined && { compact: { by: compact, keep: 1, at: 0.5 } }),
              limits: { contextWindow: window, maxRetries: 2, maxTurns: 8 },
            },
            options: { messages },
            during: (event, session) => {
              if (event.type !== 'attempt.replied') return;
              const { steering = null } = turns[steered] ?? {};
              steered += 1;
              if (steering !== null) session.steer('s'.repeat(steering));
            },
          });
          for (const request of requests) expect(real(request)).toBeLessThanOrEqual(window);
        },
      ),
      { numRuns: 60 },
    );
  });
});
