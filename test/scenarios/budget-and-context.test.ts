import { describe, expect, it } from 'vitest';
import type { SessionBudget } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { counters, report, runOverWire, tokensOf } from '../support/session.ts';
import { guarded, search, searchCall } from '../support/tools.ts';

const price = { 'scripted:scripted': { input: 1_000, output: 2_000 } };

describe('budgets', () => {
  it.each<[string, SessionBudget, number]>([
    ['requests', { requests: 3 }, 3],
    ['tokens', { tokens: 30 }, 3],
    ['costUsd', { costUsd: 0.04 }, 3],
  ])('B-4: %s spent, one more request is made, for the report', async (_name, budget, expected) => {
    const { result, requests, events } = await runOverWire({
      script: [searchCall, searchCall, report('what I have')],
      definition: { tools: { search }, pricing: price },
      options: { budget },
    });
    expect(requests).toHaveLength(expected);
    expect(result).toMatchObject({ status: 'succeeded', report: { content: 'what I have' } });
    expect(
      events.flatMap((event) => (event.type === 'session.collapsed' ? [[event.from, event.to, event.reason]] : [])),
    ).toEqual([[10, 3, 'budget']]);
    expect(result.turns.at(-1)?.attempts[0]?.notice).toContain("the session's budget is spent");
    expect(result.counters).toEqual(
      counters({
        turns: 3,
        attempts: 3,
        notices: 1,
        collapses: 1,
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 2, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(3),
        costUsd: expect.closeTo(0.06) as unknown as number,
      }),
    );
  });

  it.each<[string, SessionBudget, number]>([
    ['requests', { requests: 2 }, 2],
    ['tokens', { tokens: 15 }, 2],
  ])('B-4: %s spent, and no report on the one request more: budget_exhausted', async (_name, budget, expected) => {
    const { result, requests } = await runOverWire({
      script: [searchCall, {}],
      definition: { tools: { search } },
      options: { budget },
    });
    expect(requests).toHaveLength(expected);
    expect(result.slugs).toEqual(['budget_exhausted', 'empty_response']);
    expect(result.counters).toMatchObject({ turns: 2, attempts: 2, collapses: 1 });
  });

  it('B-4: spent in the middle of a turn, the next attempt is the last and for the report alone', async () => {
    const { result, requests } = await runOverWire({
      script: [{ text: 'thinking' }, searchCall],
      definition: { tools: { search }, limits: { maxRetries: 5 } },
      options: { budget: { tokens: 10 } },
    });
    expect(requests).toHaveLength(2);
    expect(result.turns[0]?.attempts.map((attempt) => attempt.slugs)).toEqual([['text_only'], ['tool_not_permitted']]);
    expect(requests[1]?.body.tools?.map((one) => one.function?.name)).toEqual(['final_report']);
    expect(result.slugs[0]).toBe('budget_exhausted');
  });

  it('B-4 C-1: wall-clock time ends an approval that nobody gives, and asks for the report', async () => {
    const clock = manualClock();
    let ring = () => {};
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'guarded', input: { path: '/' } }] }, report()],
      definition: { tools: { guarded } },
      options: { budget: { wallClockMs: 60_000 } },
      clock: {
        ...clock,
        sleepUntil: (dueAt, signal) =>
          new Promise((resolve) => {
            ring = () => resolve(clock.sleepUntil(dueAt, signal));
          }),
      },
      during: (event) => {
        if (event.type === 'tool.approvalRequested') ring();
      },
    });
    expect(result.turns[0]?.attempts[0]?.calls[0]?.slug).toBe('budget_exhausted');
    expect(result.success).toBe(true);
    expect(result.counters.collapses).toBe(1);
  });

  it.each([
    ['a report', report(), true],
    ['a tool call', searchCall, false],
  ])(
    'B-4 P-3: wall-clock time that ends in a wait leaves one request, for the report: %s',
    async (_, reply, success) => {
      const clock = manualClock();
      const start = clock.now();
      let ring = () => {};
      const { result, requests } = await runOverWire({
        script: [{ status: 429, headers: { 'retry-after': '30' } }, reply],
        definition: { tools: { search } },
        options: { budget: { wallClockMs: 20_000 } },
        clock: {
          ...clock,
          sleepUntil: (dueAt, signal) =>
            dueAt === start + 20_000
              ? new Promise((resolve) => {
                  ring = () => resolve(clock.sleepUntil(dueAt, signal));
                })
              : clock.sleepUntil(dueAt, signal),
        },
        during: (event) => {
          if (event.type === 'wait.started') ring();
        },
      });
      expect(requests).toHaveLength(2);
      expect(requests[1]?.body.tools?.map((one) => one.function?.name)).toEqual(['final_report']);
      const [first, notice] = [requests[0], requests[1]].map((request) =>
        JSON.stringify(request?.body.messages.at(-1)),
      );
      expect(first).not.toContain('This is the last turn');
      expect(notice).toContain('This is the last turn');
      expect(notice).toContain('budget_exhausted');
      expect(result.success).toBe(success);
      expect(result.counters.toolCalls.executed).toBe(0);
      if (!success) expect(result.slugs.slice(0, 2)).toEqual(['budget_exhausted', 'tool_not_permitted']);
    },
  );

  it('B-4: wall-clock time that is over while the session is preparing leaves one turn', async () => {
    const { result, requests } = await runOverWire({
      script: [report('nothing yet')],
      options: { budget: { wallClockMs: 60_000 } },
    });
    expect(requests).toHaveLength(1);
    expect(result.turns.map(({ isLastTurn }) => isLastTurn)).toEqual([true]);
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 1,
        notices: 1,
        collapses: 1,
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(1),
        costUsd: null,
      }),
    );
  });

  it.each([
    [{ costUsd: 1 }, 'budget.costUsd is 1, and scripted:scripted has no price'],
    [{ requests: 0 }, 'budget.requests is 0: an integer of at least 1 is allowed'],
    [{ dollars: 1 }, 'budget.dollars is not known: allowed are requests, tokens, costUsd, wallClockMs'],
  ])('a budget of %j is refused before anything runs', async (budget, message) => {
    await expect(runOverWire({ script: [report()], options: { budget: budget as SessionBudget } })).rejects.toThrow(
      message,
    );
  });
});

describe('the context guard', () => {
  const large = () => 'x'.repeat(4_000);
  const call = { calls: [{ name: 'large' }] };

  it('T-6: the oldest tool results are left out, every call keeps its answer, and the prefix changes seldom', async () => {
    const script = Array.from({ length: 6 }, (_, index) => ({
      ...call,
      usage: { input: 600 + 1_000 * Math.min(index, 3), output: 5 },
    }));
    const { result, requests } = await runOverWire({
      script: [...script, report()],
      definition: { tools: { large }, limits: { contextWindow: 4_000 } },
    });
    const omitted = requests.map(
      ({ body }) => JSON.stringify(body.messages).split('This result was left out').length - 1,
    );
    expect(omitted[0]).toBe(0);
    expect(omitted.at(-1)).toBeGreaterThan(1);
    expect(omitted).toEqual(omitted.toSorted((a, b) => a - b));
    expect(result.success).toBe(true);
    expect(JSON.stringify(result.conversation)).not.toContain('This result was left out');
  });

  it('T-6 B-4: when leaving out is not enough, the next turn is the last', async () => {
    const { result, events } = await runOverWire({
      script: [{ ...searchCall, usage: { input: 3_900, output: 5 } }, report()],
      definition: { tools: { search }, limits: { contextWindow: 4_000 } },
    });
    expect(events.flatMap((event) => (event.type === 'session.collapsed' ? [event.reason] : []))).toEqual([
      'context_guard',
    ]);
    expect(result.turns[1]?.attempts[0]?.notice).toContain('the conversation fills the context window');
  });

  it('T-6: messages handed in that fill the window leave one turn', async () => {
    const { result } = await runOverWire({
      script: [report()],
      definition: { limits: { contextWindow: 1_000 } },
      options: { prompt: 'y'.repeat(8_000) },
    });
    expect(result.turns[0]).toMatchObject({ turn: 1, isLastTurn: true });
  });
});
