import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, lastText, report, run, runOverWire, tokensOf } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

const call = searchCall;

describe('the bound', () => {
  it('B-2 T-3: two empty replies, a tool call and a report do not exhaust the retries', async () => {
    const { result, requests } = await runOverWire({
      script: [{}, {}, call, report()],
      definition: { tools: { search } },
    });
    expect(result.status).toBe('succeeded');
    expect(requests).toHaveLength(4);
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 4,
        failedAttempts: 2,
        notices: 2,
        toolCalls: { requested: 2, answered: 2, executed: 1, succeeded: 1, acknowledged: 1 },
        reports: { attempted: 1, rejected: 0 },
        tokens: tokensOf(4),
        costUsd: null,
        slugs: { empty_response: 2 },
      }),
    );
  });

  it('B-6: an attempt is announced before its request is sent', async () => {
    const model = rehearsalModel([{}, searchCall, report()]);
    const sentBefore: number[] = [];
    const { result } = await run({
      agent: defineAgent({ name: 'ordered', models: [model], tools: { search } }),
      during: (event) => {
        if (event.type === 'attempt.started') sentBefore.push(model.requests.length);
      },
    });
    // The first attempt is announced before the listener is attached.
    expect(sentBefore).toEqual([0, 1, 2].slice(-sentBefore.length));
    expect(sentBefore.length).toBeGreaterThanOrEqual(2);
    expect(result.counters.requests).toBe(3);
  });

  it('B-3 T-5: a model that only sends text fails in turn 1 after maxRetries requests', async () => {
    const { result, requests, errors } = await runOverWire({
      script: [{ text: 'I think that it is done.' }],
      definition: { tools: { search }, limits: { maxTurns: 5, maxRetries: 4 } },
    });
    expect(result.slugs).toEqual(['retries_exhausted', 'text_only']);
    expect(requests).toHaveLength(4);
    expect(result.report).toMatchObject({ source: 'synthetic', accepted: false });
    expect(result.report.content).toContain('I think that it is done.');
    expect(result.report.content).toContain('text_only x 4');
    expect(result.report.content).toContain("set `finish: 'text'`");
    expect(errors).toMatchObject([{ advice: [expect.stringContaining("set `finish: 'text'`")] }]);
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 4,
        failedAttempts: 4,
        notices: 3,
        tokens: tokensOf(4),
        costUsd: null,
        slugs: { text_only: 5, retries_exhausted: 1 },
      }),
    );
  });

  it('B-2 B-5: endless tool calls are refused on the last turn, within the bound', async () => {
    const { result, requests } = await runOverWire({
      script: [call],
      definition: { tools: { search }, limits: { maxTurns: 3, maxRetries: 2 } },
    });
    expect(result.slugs).toEqual(['retries_exhausted', 'max_turns_exhausted', 'tool_not_permitted']);
    expect(requests).toHaveLength(4);
    const offered = requests.map(({ body }) => body.tools?.map((one) => one.function?.name));
    expect(offered).toEqual([
      ['search', 'final_report'],
      ['search', 'final_report'],
      ['search', 'final_report'],
      ['final_report'],
    ]);
    expect(requests.map(({ body }) => body.tool_choice)).toEqual(['auto', 'auto', 'auto', 'auto']);
    expect(result.counters).toEqual(
      counters({
        cachePrefixBreaks: { report_only: 1 },
        turns: 3,
        attempts: 4,
        failedAttempts: 2,
        notices: 2,
        toolCalls: { requested: 4, answered: 4, executed: 2, succeeded: 2, rejected: { tool_not_permitted: 2 } },
        tokens: tokensOf(4),
        costUsd: null,
        slugs: { tool_not_permitted: 3, retries_exhausted: 1, max_turns_exhausted: 1 },
      }),
    );
  });

  it('B-2: with one attempt per turn, endless tool calls send exactly maxTurns requests', async () => {
    const { result, requests } = await runOverWire({
      script: [call],
      definition: { tools: { search }, limits: { maxTurns: 3, maxRetries: 1 } },
    });
    expect(requests).toHaveLength(3);
    expect(result.counters).toEqual(
      counters({
        turns: 3,
        attempts: 3,
        failedAttempts: 1,
        notices: 1,
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 2, rejected: { tool_not_permitted: 1 } },
        tokens: tokensOf(3),
        costUsd: null,
        slugs: { tool_not_permitted: 2, retries_exhausted: 1, max_turns_exhausted: 1 },
      }),
    );
  });

  it('N-2 B-5: the first attempt of the last turn carries a notice and the same tools', async () => {
    const { result, requests } = await runOverWire({
      script: [call, report()],
      definition: { tools: { search }, limits: { maxTurns: 2, maxRetries: 2 } },
    });
    expect(result.success).toBe(true);
    expect(requests.map((request) => lastText(request).startsWith('system notice: '))).toEqual([false, true]);
    expect(lastText(requests[1] ?? expect.fail())).toContain('This is the last turn.');
  });

  it.each([0, -1, 1.5, Number.NaN, '3', null])(
    'B-1: maxRetries %s is refused with an error that names the field, the value and the rule',
    async (maxRetries) => {
      const { defineAgent, PawlError } = await import('../../src/index.ts');
      const { rehearsalModel } = await import('../../src/testing/index.ts');
      const define = () =>
        defineAgent({ name: 'a', models: [rehearsalModel([])], limits: { maxRetries: maxRetries as number } });
      expect(define).toThrow(PawlError);
      expect(define).toThrow(
        `\`limits.maxRetries\` must be an integer of at least 1; got ${Number.isNaN(maxRetries) ? 'NaN' : JSON.stringify(maxRetries)}.`,
      );
    },
  );
});
