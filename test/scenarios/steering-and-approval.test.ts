import { describe, expect, it } from 'vitest';
import { callsIn, counters, report, runOverWire, tokensOf } from '../support/session.ts';
import { guarded, search, searchCall } from '../support/tools.ts';

describe('steering and approval', () => {
  it('D-2 C-6: a steering message is sent with the next request, after the answers, and stays in the conversation', async () => {
    const { result, requests } = await runOverWire({
      script: [searchCall, searchCall, report()],
      definition: { tools: { search } },
      during: (event, session) => {
        if (event.type === 'tool.started' && event.turn === 1) session.steer('Be brief.');
      },
    });
    const roles = requests[1]?.body.messages.map((message) => message.role);
    expect(roles).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(requests[1]?.body.messages.at(-1)?.content).toBe('Be brief.');
    for (const kept of [requests[2]?.body.messages, result.conversation])
      expect(JSON.stringify(kept).split('Be brief.')).toHaveLength(1 + 1);
  });

  it.each([
    ['approved', true, null, 'deleted /tmp/x'],
    ['denied', false, 'tool_denied', null],
  ])('C-1: a call that needs approval is %s', async (_word, approved, slug, value) => {
    const { result, events } = await runOverWire({
      script: [
        {
          calls: [
            { name: 'guarded', input: { path: '/tmp/x' } },
            { name: 'search', input: { q: 'x' } },
          ],
        },
        report(),
      ],
      definition: { tools: { guarded, search } },
      during: (event, session) => {
        if (event.type !== 'tool.approvalRequested') return;
        expect(session.approve('no-such-call', { approved: true })).toBe(false);
        setImmediate(() => expect(session.approve(event.callId, { approved, reason: 'because' })).toBe(true));
      },
    });
    const [call] = result.turns[0]?.attempts[0]?.calls ?? [];
    expect(call).toMatchObject({ slug, executed: approved, result: { value } });
    expect(
      events.some((event) => event.type === (approved ? 'tool.approved' : 'tool.denied') && event.reason === 'because'),
    ).toBe(true);
    if (!approved) expect(call?.output).toEqual({ type: 'execution-denied', reason: 'because' });
  });

  it.each([
    ['denies', 'tool_denied', 5_000],
    ['never decides about', 'approval_timeout', 20],
  ])(
    'T-2: a person who %s each call neither ends the session nor causes any failed attempt',
    async (_how, slug, ms) => {
      const ask = { calls: [{ name: 'guarded', input: { path: '/' } }] };
      const { result, requests, warnings } = await runOverWire({
        script: [ask, ask, ask, ask, report()],
        definition: { tools: { guarded }, limits: { approvalTimeoutMs: ms } },
        during: (event, session) => {
          if (event.type === 'tool.approvalRequested' && slug === 'tool_denied') {
            session.approve(event.callId, { approved: false });
          }
        },
      });
      expect(callsIn(result).map((call) => call.slug)).toEqual([slug, slug, slug, slug, null]);
      expect(warnings).toEqual([]);
      expect(JSON.stringify(requests)).not.toContain('system notice');
      expect(result.counters).toEqual(
        counters({
          turns: 5,
          attempts: 5,
          toolCalls: { requested: 5, answered: 5, acknowledged: 1, rejected: { [slug]: 4 } },
          reports: { attempted: 1 },
          tokens: tokensOf(5),
          costUsd: null,
        }),
      );
    },
  );

  it('C-1: a call that is not approved in time is answered with approval_timeout', async () => {
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'guarded', input: { path: '/' } }] }, report()],
      definition: { tools: { guarded }, limits: { approvalTimeoutMs: 20 } },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: false, slug: 'approval_timeout' });
  });
});
