import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { type RehearsalScript, rehearsalModel } from '../../src/testing/index.ts';
import { callsIn, report, run, runOverWire } from '../support/session.ts';
import { guarded } from '../support/tools.ts';

describe('parallel sub-agents', () => {
  const task = { prompt: 'x', reason: 'y' };
  const child = (replies: Parameters<typeof rehearsalModel>[0], over: object = {}) =>
    defineAgent({ name: 'child', models: [rehearsalModel(replies)], ...over });

  it('an approval by an id that two calls share reaches neither, and a sessionId picks one', async () => {
    const guardedChild = () =>
      child([{ calls: [{ name: 'guarded', input: { path: '/' }, id: '' }] }, report('done')], { tools: { guarded } });
    const asked: { sessionId: string; path: readonly string[] }[] = [];
    const { result } = await runOverWire({
      script: [
        {
          calls: [
            { name: 'harmless', input: task },
            { name: 'dangerous', input: task },
          ],
        },
        report(),
      ],
      definition: { agents: { harmless: guardedChild(), dangerous: guardedChild() } },
      during: (event, session) => {
        if (event.type !== 'tool.approvalRequested') return;
        asked.push(event);
        if (asked.length < 2) return;
        expect(session.approve(event.callId, { approved: true })).toBe(false);
        for (const { sessionId, path } of asked) {
          expect(session.approve(event.callId, { approved: path[0] === 'harmless', sessionId })).toBe(true);
        }
      },
    });
    expect(result.counters.subAgents.harmless?.toolCalls.executed).toBe(1);
    expect(result.counters.subAgents.dangerous?.toolCalls.executed).toBe(0);
  });

  it('a call that starts no session uses no budget', async () => {
    const call = (prompt: string) => ({ calls: [{ name: 'child', input: { prompt, reason: 'y' } }] });
    const { result } = await runOverWire({
      script: [call(' '), call('go'), report()],
      definition: { agents: { child: child([report('in time')]) }, limits: { maxTreeRequests: 10 } },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual(['invalid_tool_input', null, null]);
  });

  const six = Array.from({ length: 6 }, () => ({ calls: [{ name: 'child', input: task }] })).flatMap(
    ({ calls }) => calls,
  );
  const look = { calls: [{ name: 'look' }] };
  const tools = { look: () => 'x' };
  const lookThenReport: RehearsalScript = ({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? report('done') : look;

  it('B-7: six side by side share the budget of requests: none is told that it is spent', async () => {
    const { result } = await runOverWire({
      script: [{ calls: six }, report()],
      definition: {
        agents: { child: child(lookThenReport, { tools, limits: { maxTurns: 10, maxRetries: 3 } }) },
        limits: { maxTreeRequests: 120 },
      },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual(Array(7).fill(null));
    expect(result.counters).toMatchObject({ requests: 2, tree: { sessions: 7, requests: 14 } });
  });

  it('B-7: with too few requests for all, the others wait for what comes back', async () => {
    const { result } = await runOverWire({
      script: [{ calls: six }, report()],
      definition: { agents: { child: child(lookThenReport, { tools }) }, limits: { maxTreeRequests: 14 } },
    });
    expect(result.counters.tree.requests).toBeLessThanOrEqual(14);
    expect(result.success).toBe(true);
    const slugs = callsIn(result).map(({ slug, executed }) => [slug, executed]);
    expect(slugs.filter(([slug]) => slug === null).length).toBeGreaterThanOrEqual(5);
  });

  it.each([
    ['tokens', { tokens: 320 }, {}],
    ['cost', { costUsd: 20 }, { pricing: { 'rehearsal:script': { input: 62_500, output: 62_500 } } }],
  ])('B-7: six side by side spend a budget of %s once, not six times', async (_what, budget, priced) => {
    const usage = { input: 8, output: 8 };
    const model = rehearsalModel(() => ({ ...look, usage }));
    const greedy = defineAgent({
      name: 'child',
      models: [model],
      tools,
      limits: { maxTurns: 50, maxRetries: 1 },
      ...priced,
    });
    const { result } = await run({
      agent: defineAgent({
        name: 'tested',
        models: [
          rehearsalModel([
            { calls: six, usage },
            { ...report(), usage },
          ]),
        ],
        agents: { child: greedy },
        limits: { maxTreeRequests: 1_000 },
        ...priced,
      }),
      options: { budget },
    });
    const { tokens, costUsd } = result.counters.tree;
    // 20 requests, and for each of the seven sessions the one that passed the limit and the one for its report.
    const most = 20 + 7 * 2;
    expect(tokens.input + tokens.output).toBeLessThanOrEqual(16 * most);
    if (costUsd !== null) expect(costUsd).toBeLessThanOrEqual(most);
  });

  it('B-7: a call refused because the budget of the tree is spent was not executed', async () => {
    const { result } = await runOverWire({
      script: [{ calls: six.slice(0, 2) }, report()],
      definition: { agents: { child: child([report('done')]) }, limits: { maxTreeRequests: 3 } },
    });
    const refused = callsIn(result).filter(({ executed, name }) => !executed && name === 'child');
    expect(refused).toMatchObject([{ slug: 'budget_exhausted', result: { success: false } }]);
    expect(result.counters).toMatchObject({
      requests: 2,
      toolCalls: { executed: 1, rejected: { budget_exhausted: 1 } },
      tree: { requests: 3, sessions: 2 },
    });
    expect(result.success).toBe(true);
  });

  it('a stop reaches sub-agents that start after it', async () => {
    const busy = child([{ calls: [{ name: 'look' }] }, report('stopped early')], {
      tools: { look: () => 'more' },
      limits: { maxTurns: 30 },
    });
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'child', input: task }] }, report()],
      definition: { agents: { child: busy } },
      during: (event, session) => {
        if (event.type === 'attempt.started' && event.path.length === 0 && event.turn === 1) session.stop();
      },
    });
    expect(result.counters.subAgents.child?.requests).toBeLessThanOrEqual(2);
  });
});
