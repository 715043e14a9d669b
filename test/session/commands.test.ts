import { describe, expect, it } from 'vitest';
import { callsIn, counters, report, runOverWire, tokensOf } from '../support/session.ts';
import { guarded, search, searchCall } from '../support/tools.ts';

const ask = { calls: [{ name: 'guarded', input: { path: '/tmp/x' } }] };

describe('commands in one tick', () => {
  it('D-2: a call that is approved before a stop runs', async () => {
    const { result } = await runOverWire({
      script: [ask, report()],
      definition: { tools: { guarded } },
      during: (event, session) => {
        if (event.type !== 'tool.approvalRequested') return;
        session.approve(event.callId, { approved: true });
        session.stop();
      },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, slug: null, result: { value: 'deleted /tmp/x' } });
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        notices: 1,
        collapses: 1,
        toolCalls: { requested: 2, answered: 2, executed: 1, succeeded: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
      }),
    );
  });

  it('D-2: no tool begins after an abort that a listener gave when the call was requested', async () => {
    const begun: unknown[] = [];
    const tools = { search: { ...search, execute: ({ q }: { q: string }) => begun.push(q) } };
    for (const at of ['attempt.replied', 'tool.requested', 'tool.started'] as const) {
      const { result } = await runOverWire({
        script: [{ calls: [...searchCall.calls, ...searchCall.calls] }],
        definition: { tools },
        during: (event, session) => {
          if (event.type === at) session.abort();
        },
      });
      expect(result.status).toBe('aborted');
      expect(callsIn(result).map(({ slug }) => slug)).toEqual(['aborted', 'aborted']);
    }
    expect(begun).toEqual([]);
  });

  it('D-2: steering counts until a report is accepted', async () => {
    const told: [string, boolean][] = [];
    const { result } = await runOverWire({
      script: [searchCall, report()],
      definition: { tools: { search } },
      during: (event, session) => {
        if (event.type === 'tool.started') told.push(['before', session.steer('Be brief.')]);
        if (event.type === 'report.accepted') told.push(['after', session.steer('Too late.')]);
      },
    });
    expect(told).toEqual([
      ['before', true],
      ['after', false],
    ]);
    expect(JSON.stringify(result.conversation)).not.toContain('Too late.');
  });
});

describe('D-2e: steering is taken only while a request can carry it', () => {
  const steered = async (script: Parameters<typeof runOverWire>[0]['script'], at: string, limits: object) => {
    const taken: boolean[] = [];
    const { result, requests } = await runOverWire({
      script,
      definition: { tools: { search }, limits },
      during: (event, session) => {
        if (event.type === at && taken.length === 0) taken.push(session.steer('Look in the cellar.'));
      },
    });
    const carried = requests.filter(({ body }) => JSON.stringify(body).includes('cellar')).length;
    const kept = JSON.stringify(result.conversation).split('cellar').length - 1;
    return { taken, carried, kept };
  };

  it.each([
    ['a turn that others follow progressed', [searchCall, searchCall, report()], 'turn.progressed', {}, [true], 1],
    ['an attempt failed, and another follows', [{ text: '' }, { text: '' }, report()], 'attempt.failed', {}, [true], 1],
    ['a report was accepted', [report()], 'report.accepted', {}, [false], 0],
    ['the last attempt of the turn failed', [{ text: '' }], 'turn.exhausted', { maxRetries: 1 }, [false], 0],
    ['the last turn is over', [searchCall, searchCall], 'turn.exhausted', { maxTurns: 2, maxRetries: 1 }, [false], 0],
    ['the session failed', [{ text: '' }], 'session.failed', { maxRetries: 1 }, [false], 0],
  ] as const)('%s', async (_, script, at, limits, taken, carried) => {
    expect(await steered([...script], at, limits)).toEqual({ taken: [...taken], carried, kept: carried });
  });
});
