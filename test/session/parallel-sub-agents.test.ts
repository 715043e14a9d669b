import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { callsIn, report, runOverWire } from '../support/session.ts';
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
