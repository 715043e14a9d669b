import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type SessionEvent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { callsIn, counters, report, runOverWire, tokensOf } from '../support/session.ts';
import { guarded } from '../support/tools.ts';

const typesBelow = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.path.length > 0 ? [event.type] : []));

describe('sub-agents', () => {
  const task = { prompt: 'Sum it up.', reason: 'It is long.' };
  const child = (replies: Parameters<typeof rehearsalModel>[0], over: object = {}) =>
    defineAgent({ name: 'summarizer', models: [rehearsalModel(replies)], ...over });
  const ask = { calls: [{ name: 'summarizer', input: task }] };

  it('B-7: each call is a separate session with its own log, events and counters', async () => {
    const { result, events, lines } = await runOverWire({
      script: [ask, report()],
      definition: { agents: { summarizer: child([{}, report('In short.')]) } },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, slug: null, output: { value: 'In short.' } });
    const { subAgents, tree } = result.counters;
    expect(subAgents.summarizer).toEqual(
      counters({
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        notices: 1,
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
        slugs: { empty_response: 1 },
      }),
    );
    expect(tree).toMatchObject({ sessions: 2, requests: 4, toolCalls: 3 });
    const below = events.filter((event) => event.path.length > 0);
    expect(below.map((event) => event.path)).toEqual(below.map(() => ['summarizer']));
    expect(below.some((event) => event.type === 'session.succeeded')).toBe(true);
    const [warning] = lines.filter((line) => line.level === 40);
    expect(warning).toMatchObject({
      agent: 'summarizer',
      parentSessionId: 'session-under-test',
      slugs: ['empty_response'],
    });
  });

  it('B-7: a failed child returns a failed result with its slugs and report', async () => {
    const { result, errors } = await runOverWire({
      script: [ask, report()],
      definition: { agents: { summarizer: child([{}], { limits: { maxRetries: 2 } }) } },
    });
    const [call] = callsIn(result);
    expect(call).toMatchObject({ executed: true, slug: 'tool_exec_failed' });
    expect(call?.result.value).toMatchObject({ slugs: ['retries_exhausted', 'empty_response'] });
    expect(JSON.stringify(call?.output)).toContain('no report was accepted');
    expect(result.success).toBe(true);
    expect(errors).toHaveLength(1);
  });

  it.each([
    ['shaped like a failed result', { success: false, value: null, message: 'nothing to do' }],
    ['null', null],
  ])('F-6: an accepted report is a success even if it is %s', async (_, content) => {
    const reported = { calls: [{ name: 'final_report', input: { content } }] };
    const schema = z.union([z.null(), z.object({ success: z.boolean(), value: z.null(), message: z.string() })]);
    const { result } = await runOverWire({
      script: [ask, report()],
      definition: { agents: { summarizer: child([reported], { report: { format: 'json', schema } }) } },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, slug: null, result: { success: true, value: content } });
  });

  it('B-3 S-1: a child that reaches its bound fails because of it, not because of an equal budget', async () => {
    const { result } = await runOverWire({
      script: [ask, report()],
      definition: { agents: { summarizer: child([{}], { limits: { maxTurns: 2, maxRetries: 1 } }) } },
    });
    expect(callsIn(result)[0]?.result.value).toMatchObject({ slugs: ['retries_exhausted', 'empty_response'] });
  });

  it('B-7: agents call each other down to maxDepth and no deeper', async () => {
    const deepest = child([ask, report('as deep as it goes')], { agents: { summarizer: child([report()]) } });
    const middle = child([ask, report('middle')], { agents: { summarizer: deepest } });
    const { result, events } = await runOverWire({
      script: [ask, report()],
      definition: { agents: { summarizer: middle }, limits: { maxDepth: 3 } },
    });
    expect(result.counters.tree.sessions).toBe(3);
    const refused = events.filter((event) => event.type === 'tool.answered' && event.slug === 'depth_exceeded');
    expect(refused.map((event) => event.path)).toEqual([['summarizer', 'summarizer']]);
  });

  it('B-7: a tree sends at most maxTreeRequests requests, siblings included, and the parent can still report', async () => {
    const endless = (): ReturnType<typeof child> =>
      child([{ calls: [{ name: 'look' }] }], { tools: { look: () => 'more' }, limits: { maxTurns: 50 } });
    const { result } = await runOverWire({
      script: [
        {
          calls: [
            { name: 'one', input: task },
            { name: 'two', input: task },
            { name: 'three', input: task },
          ],
        },
        report('what there is'),
      ],
      definition: {
        agents: { one: endless(), two: endless(), three: endless() },
        limits: { maxTreeRequests: 12 },
      },
    });
    expect(result.counters.tree.requests).toBeLessThanOrEqual(12);
    expect(result.report).toMatchObject({ content: 'what there is', accepted: true });
    const slugs = callsIn(result).map(({ slug }) => slug);
    expect(slugs.filter((slug) => slug === 'tool_exec_failed').length).toBeGreaterThan(0);
  });

  it('B-4 B-7: tokens that a sub-agent uses count against the budget of its parent', async () => {
    const { result } = await runOverWire({
      script: [ask, ask, report('enough')],
      definition: { agents: { summarizer: child([report('short')]) } },
      options: { budget: { tokens: 40 } },
    });
    expect(result.counters.collapses).toBe(1);
    expect(result.counters.tree.tokens.input + result.counters.tree.tokens.output).toBeGreaterThanOrEqual(40);
    expect(result.success).toBe(true);
  });

  it('D-2: an abort propagates to the sub-agent, and the session waits for it to end', async () => {
    const { result, events } = await runOverWire({
      script: [ask],
      definition: { agents: { summarizer: child([{ hangs: true }]) } },
      during: (event, session) => {
        if (event.type === 'attempt.started' && event.path.length === 1) session.abort('enough');
      },
    });
    expect(callsIn(result)[0]?.slug).toBe('aborted');
    expect(result.counters.subAgents.summarizer?.slugs).toEqual({ aborted: 1 });
    expect(typesBelow(events)).toContain('session.aborted');
  });

  it('B-4: a stop propagates to the child, which reports early, and the parent receives the report', async () => {
    const { result, events } = await runOverWire({
      script: [ask, report('all that there is')],
      definition: {
        agents: {
          summarizer: child([{ calls: [{ name: 'look' }] }, report('so far')], { tools: { look: () => 'x' } }),
        },
      },
      during: (event, session) => {
        if (event.type === 'tool.started' && event.path.length === 1) session.stop();
      },
    });
    expect(typesBelow(events)).toContain('session.stopping');
    expect(callsIn(result)[0]?.output).toEqual({ type: 'text', value: 'so far' });
    expect(result.turns.at(-1)?.isLastTurn).toBe(true);
    expect(result.success).toBe(true);
  });

  it('the parent session approves a call of its sub-agent', async () => {
    const { result } = await runOverWire({
      script: [ask, report()],
      definition: {
        agents: {
          summarizer: child([{ calls: [{ name: 'guarded', input: { path: '/' } }] }, report('done')], {
            tools: { guarded },
          }),
        },
      },
      during: (event, session) => {
        if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: true });
      },
    });
    expect(result.counters.subAgents.summarizer?.toolCalls.executed).toBe(1);
  });
});
