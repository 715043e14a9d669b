import { describe, expect, it } from 'vitest';
import { allow, deny, type SessionBudget } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { counters, report, runOverWire, tokensOf } from '../support/session.ts';
import { guarded, search, searchCall } from '../support/tools.ts';

const price = { 'scripted:scripted': { input: 1_000, output: 2_000 } };

describe('budgets', () => {
  it.each<[string, SessionBudget, number]>([
    ['requests', { requests: 3 }, 3],
    ['tokens', { tokens: 30 }, 3],
    ['costUsd', { costUsd: 0.04 }, 3],
  ])('B-4: when the %s budget is spent, one more request asks for the report', async (_name, budget, expected) => {
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

  it.each<[string, SessionBudget]>([
    ['tokens', { tokens: 10_000 }],
    ['costUsd', { costUsd: 0.02 }],
  ])('B-4: the %s budget is charged with an estimate if the provider counts nothing', async (_name, budget) => {
    const body = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}\n\n`;
    const { result, requests } = await runOverWire({
      script: (_, index) =>
        index < 2 ? { body, headers: { 'content-type': 'text/event-stream' } } : report('So far.'),
      definition: {
        tools: { read: () => 'word '.repeat(10_000) },
        pricing: { 'scripted:scripted': { input: 2, output: 2 } },
      },
      options: { budget },
    });
    // The second request holds the result of the first, which is more than the budget.
    expect(requests).toHaveLength(3);
    expect(result).toMatchObject({ status: 'succeeded', report: { content: 'So far.' } });
    expect(result.turns.at(-1)?.attempts[0]?.notice).toContain("the session's budget is spent");
    expect(result.counters).toEqual(
      counters({
        turns: 3,
        attempts: 3,
        notices: 1,
        collapses: 1,
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 2, acknowledged: 1 },
        reports: { attempted: 1 },
        // What the provider counted, and what is estimated that all cost.
        tokens: tokensOf(1),
        costUsd: result.counters.costUsd,
      }),
    );
    expect(result.counters.costUsd).toBeGreaterThan(0.02);
    expect(result.counters.costUsd).toBeLessThan(0.06);
  });

  it.each([null, 200_000])(
    'B-4: a reply that breaks off is charged with an estimate too, window: %s',
    async (window) => {
      const cut = { text: 'word '.repeat(10_000), cut: { afterBytes: 40_000, how: 'end' as const } };
      const { result, requests } = await runOverWire({
        script: [cut, report('So far.')],
        options: { budget: { tokens: 5_000 } },
        definition: { limits: { maxRetries: 5, ...(window !== null && { contextWindow: window }) } },
      });
      expect(requests).toHaveLength(2);
      expect(result).toMatchObject({ status: 'succeeded', report: { content: 'So far.' } });
      expect(result.turns[0]?.attempts[1]?.notice).toContain("the session's budget is spent");
    },
  );

  it('B-4 G-2: so is a reply that is withheld', async () => {
    const body = `data: {"choices":[{"index":0,"delta":{"content":"Ada"},"finish_reason":"stop"}]}\n\n`;
    const { result, requests } = await runOverWire({
      script: (_, index) => (index === 0 ? { body, headers: { 'content-type': 'text/event-stream' } } : report()),
      options: { budget: { tokens: 20 }, prompt: 'word '.repeat(100) },
      definition: { checkReply: ({ text }) => (text === 'Ada' ? deny('No.') : allow), limits: { maxRetries: 5 } },
    });
    expect(requests).toHaveLength(2);
    expect(result.turns[0]?.attempts[1]?.notice).toContain("the session's budget is spent");
  });

  it('B-4: a request that the provider refused in its stream costs nothing', async () => {
    const refused = { errorEvent: { afterEvents: 0, type: 'overloaded_error', message: 'Overloaded' } };
    const { result, requests } = await runOverWire({
      script: [refused, refused, report()],
      definition: { pricing: price },
      options: { budget: { costUsd: 0.5, tokens: 100 }, prompt: 'word '.repeat(10_000) },
    });
    expect(requests).toHaveLength(3);
    expect(result.success).toBe(true);
    expect(result.counters).toMatchObject({ attempts: 3, failedAttempts: 2, collapses: 0, tokens: tokensOf(1) });
    expect(result.counters.costUsd).toBeCloseTo(0.02);
  });

  it.each<[string, SessionBudget, number]>([
    ['requests', { requests: 2 }, 2],
    ['tokens', { tokens: 15 }, 2],
  ])(
    'B-4: when the %s budget is spent and the extra request yields no report, the session fails with budget_exhausted',
    async (_name, budget, expected) => {
      const { result, requests } = await runOverWire({
        script: [searchCall, {}],
        definition: { tools: { search } },
        options: { budget },
      });
      expect(requests).toHaveLength(expected);
      expect(result.slugs).toEqual(['budget_exhausted', 'empty_response']);
      expect(result.counters).toMatchObject({ turns: 2, attempts: 2, collapses: 1 });
    },
  );

  it('B-4: a budget spent mid-turn makes the next attempt the last, for the report only', async () => {
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

  it('B-4 C-1: when wall-clock time runs out, a pending approval ends and the report is requested', async () => {
    const clock = manualClock();
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'guarded', input: { path: '/' } }] }, report()],
      definition: { tools: { guarded } },
      options: { budget: { wallClockMs: 60_000 } },
      clock,
      alarms: 'manual',
      during: (event) => {
        if (event.type === 'tool.approvalRequested') clock.advance(60_000);
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
    'B-4 P-3e: if wall-clock time runs out with a wait, one request is left, for the report: %s',
    async (_, reply, success) => {
      const { result, requests } = await runOverWire({
        script: [{ status: 429, headers: { 'retry-after': '20' } }, reply],
        definition: { tools: { search } },
        options: { budget: { wallClockMs: 20_000 } },
        alarms: 'manual',
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

  it('P-3e: a wait that would end after the wall-clock time is not begun, and the failure names its end', async () => {
    const clock = manualClock();
    const began = clock.now();
    const { result, requests, events } = await runOverWire({
      script: [{ status: 429, headers: { 'retry-after': '30' } }, report()],
      options: { budget: { wallClockMs: 20_000 } },
      clock,
      alarms: 'manual',
    });
    expect(requests).toHaveLength(1);
    expect(clock.now()).toBeLessThan(began + 1_000);
    expect(events.filter(({ type }) => type === 'wait.started')).toEqual([]);
    expect(result.slugs).toEqual(['no_targets', 'rate_limited']);
    const retryAt = result.failure?.retryAt ?? 0;
    expect(retryAt - began).toBeGreaterThanOrEqual(30_000);
    expect(result.report.content).toContain(
      `The provider accepts requests again at ${new Date(retryAt).toISOString()}.`,
    );
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 1, failedAttempts: 1, costUsd: 0 },
        slugs: { rate_limited: 2, no_targets: 1 },
      }),
    );
  });

  it('B-4: if wall-clock time runs out during preparation, one turn is left', async () => {
    const clock = manualClock();
    const { result, requests } = await runOverWire({
      script: [report('nothing yet')],
      definition: {
        instructions: () => {
          clock.advance(60_000);
          return 'Be brief.';
        },
        limits: { prepareTimeoutMs: 120_000 },
      },
      options: { budget: { wallClockMs: 60_000 } },
      clock,
      alarms: 'manual',
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
    [
      { costUsd: 1 },
      '`budget.costUsd` needs a price for every model of the agent and its sub-agents; the `pricing` of "tested" has none for "scripted:scripted".',
    ],
    [{ requests: 0 }, '`budget.requests` must be an integer of at least 1; got 0.'],
    [{ dollars: 1 }, 'Unknown option `budget.dollars`. Options: requests, tokens, costUsd, wallClockMs.'],
  ])('a budget of %j is refused before anything runs', async (budget, message) => {
    await expect(runOverWire({ script: [report()], options: { budget: budget as SessionBudget } })).rejects.toThrow(
      message,
    );
  });
});
