import { describe, expect, it } from 'vitest';
import { defineAgent, startSession } from '../../src/index.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { counters, keptLog, report, runOverWire, tokensOf } from '../support/session.ts';
import { deaf, guarded, patient, search, searchCall } from '../support/tools.ts';

describe('abort', () => {
  it('C-1 D-2: an abort during the request ends the session', async () => {
    const { result, requests } = await runOverWire({
      script: [{ hang: true }],
      during: (event, session) => {
        if (event.type === 'attempt.started') session.abort('enough');
      },
    });
    expect(result.status).toBe('aborted');
    expect(result.slugs).toEqual(['aborted']);
    expect(requests.length).toBeLessThanOrEqual(1);
    expect(result.counters).toEqual(counters({ turns: 1, attempts: 1, costUsd: 0, slugs: { aborted: 1 } }));
  });

  it('C-1 T-2: an abort during tools answers every open call with aborted, whether or not the tool heeds it', async () => {
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'patient' }, { name: 'deaf' }, { name: 'search', input: { q: 'x' } }] }],
      definition: { tools: { patient, deaf, search } },
      during: (event, session) => {
        if (event.type === 'tool.answered' && event.name === 'search') session.abort();
      },
    });
    expect(result.status).toBe('aborted');
    expect(result.turns[0]?.attempts[0]?.calls.map((call) => call.slug)).toEqual(['aborted', 'aborted', null]);
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 1,
        toolCalls: { requested: 3, answered: 3, executed: 1, succeeded: 1, rejected: { aborted: 2 } },
        tokens: tokensOf(1),
        costUsd: null,
        slugs: { aborted: 1 },
      }),
    );
  });

  it('P-3 D-2: an abort during a wait ends the session', async () => {
    const { result } = await runOverWire({
      script: [{ status: 429 }],
      clock: manualClock({ hold: true }),
      during: (event, session) => {
        if (event.type === 'wait.started') session.abort();
      },
    });
    expect(result.status).toBe('aborted');
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 1,
        failedAttempts: 1,
        waits: 1,
        costUsd: 0,
        slugs: { rate_limited: 1, aborted: 1 },
      }),
    );
  });

  it('C-1 D-2: an abort during an approval answers the call without running it', async () => {
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'guarded', input: { path: '/' } }] }],
      definition: { tools: { guarded } },
      during: (event, session) => {
        if (event.type === 'tool.approvalRequested') session.abort();
      },
    });
    expect(result.status).toBe('aborted');
    expect(result.counters.toolCalls).toMatchObject({ executed: 0, rejected: { aborted: 1 } });
  });

  it('D-2: an abort before the start sends no request but returns a report', async () => {
    const { result, requests } = await runOverWire({
      script: [report()],
      options: { signal: AbortSignal.abort(new Error('not wanted')) },
    });
    expect(requests).toHaveLength(0);
    expect(result.status).toBe('aborted');
    expect(result.report.source).toBe('synthetic');
    expect(result.counters).toEqual(counters({ slugs: { aborted: 1 } }));
  });

  it('D-2: an abort by signal and by method counts once', async () => {
    const controller = new AbortController();
    const { result, events } = await runOverWire({
      script: [{ calls: [{ name: 'deaf' }] }],
      definition: { tools: { deaf } },
      options: { signal: controller.signal },
      during: (event, session) => {
        if (event.type !== 'tool.started') return;
        controller.abort(new Error('by signal'));
        session.abort();
      },
    });
    expect(result.status).toBe('aborted');
    expect(events.filter((event) => event.type === 'session.aborting')).toHaveLength(1);
  });

  it('F-1 T-1: an accepted report is kept even if other calls in its reply are aborted', async () => {
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'final_report', input: { content: 'done' } }, { name: 'deaf' }] }],
      definition: { tools: { deaf } },
      during: (event, session) => {
        if (event.type === 'tool.started') session.abort();
      },
    });
    expect(result).toMatchObject({ status: 'succeeded', report: { content: 'done', accepted: true } });
  });
});

describe('stop', () => {
  it('B-4: a stop during the request lets the turn finish, and the next turn is the last', async () => {
    const { result, events } = await runOverWire({
      script: [searchCall, report('so far')],
      definition: { tools: { search }, limits: { maxTurns: 9 } },
      during: (event, session) => {
        if (event.type === 'attempt.started') session.stop();
      },
    });
    expect(result).toMatchObject({ status: 'succeeded', report: { content: 'so far' } });
    expect(events.flatMap((event) => (event.type === 'session.collapsed' ? [event.reason] : []))).toEqual([
      'stop_requested',
    ]);
    expect(result.turns[1]).toMatchObject({ isLastTurn: true });
    expect(result.turns[1]?.attempts[0]?.notice).toContain('the session is being stopped');
    expect(result.counters).toMatchObject({ turns: 2, collapses: 1, notices: 1 });
  });

  it('B-4: a stop while a tool runs lets the tool finish', async () => {
    let finish: (value: string) => void = () => undefined;
    const slow = () => new Promise<string>((resolve) => (finish = resolve));
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'slow' }] }, report()],
      definition: { tools: { slow } },
      during: (event, session) => {
        if (event.type !== 'tool.started') return;
        session.stop();
        session.stop();
        setImmediate(() => finish('finished'));
      },
    });
    expect(result.counters).toMatchObject({ turns: 2, collapses: 1, toolCalls: { executed: 1, succeeded: 1 } });
  });

  it.each([
    ['a stop', {}, 'stopped'],
    ['the deadline', { budget: { wallClockMs: 60_000 } }, 'budget_exhausted'],
  ] as const)(
    'B-4 C-1 T-2: %s during an approval answers it, and the next request asks for the report',
    async (what, options, slug) => {
      const clock = manualClock();
      const { result, requests, warnings } = await runOverWire({
        script: [{ calls: [{ name: 'guarded', input: { path: '/' } }] }, report()],
        definition: { tools: { guarded }, limits: { maxRetries: 1 } },
        options,
        clock,
        alarms: 'manual',
        during: (event, session) => {
          if (event.type === 'tool.approvalRequested') what === 'a stop' ? session.stop() : clock.advance(60_000);
        },
      });
      expect(warnings).toEqual([]);
      expect(requests).toHaveLength(2);
      expect(JSON.stringify(requests[1]?.body.messages.at(-1))).toContain('last turn');
      expect(result.success).toBe(true);
      expect(result.counters).toEqual(
        counters({
          turns: 2,
          attempts: 2,
          notices: 1,
          collapses: 1,
          toolCalls: { requested: 2, answered: 2, acknowledged: 1, rejected: { [slug]: 1 } },
          reports: { attempted: 1 },
          tokens: tokensOf(2),
          costUsd: null,
        }),
      );
    },
  );

  it('B-4 P-3: a stop during a wait does not cut it short', async () => {
    const { result } = await runOverWire({
      script: [{ status: 429 }, searchCall, report()],
      definition: { tools: { search } },
      during: (event, session) => {
        if (event.type === 'wait.started') session.stop();
      },
    });
    expect(result.counters).toMatchObject({ turns: 2, waits: 1, collapses: 1, failedAttempts: 1 });
    expect(result.success).toBe(true);
  });

  it('B-4: a stop on the last turn changes nothing, but a session that then fails reports it', async () => {
    const { result } = await runOverWire({
      script: [{}],
      definition: { limits: { maxTurns: 1, maxRetries: 2 } },
      during: (event, session) => {
        if (event.type === 'attempt.failed') session.stop();
      },
    });
    expect(result.counters.collapses).toBe(0);
    expect(result.slugs).toEqual(['retries_exhausted', 'max_turns_exhausted', 'stopped', 'empty_response']);
  });

  it('B-4 B-5: a stop while the session prepares leaves one turn, which is the last', async () => {
    const agent = defineAgent({
      name: 'early',
      models: [rehearsalModel([{ calls: [{ name: 'search', input: { q: 'x' } }] }, report('nothing yet')])],
      tools: { search },
      limits: { maxTurns: 9 },
    });
    const session = startSession(agent, { prompt: 'Do the task.', logger: keptLog().logger });
    expect(session.counters.turns).toBe(0);
    session.stop();
    const result = await session.result;
    expect(result).toMatchObject({ status: 'succeeded', report: { content: 'nothing yet' } });
    expect(result.turns.map(({ turn, isLastTurn }) => [turn, isLastTurn])).toEqual([[1, true]]);
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        toolCalls: { requested: 2, answered: 2, acknowledged: 1, rejected: { tool_not_permitted: 1 } },
        reports: { attempted: 1 },
        notices: 2,
        collapses: 1,
        tokens: tokensOf(2),
        costUsd: null,
        slugs: { tool_not_permitted: 1 },
      }),
    );
  });
});
