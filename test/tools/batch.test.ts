import { describe, expect, it } from 'vitest';
import { callsIn, counters, report, runOverWire, tokensOf } from '../support/session.ts';
import { deaf, guarded, search } from '../support/tools.ts';

const batch = (...calls: { tool: string; input?: unknown }[]) => ({ calls: [{ name: 'batch', input: { calls } }] });

const withBatch = { builtIns: { batch: true, progressReport: true } };

describe('batch', () => {
  it('T-2 C-1: each inner call is answered, one result holds all answers, and the wrapper does not count as progress', async () => {
    const { result, requests } = await runOverWire({
      script: [
        batch(
          { tool: 'search', input: { q: 'a' } },
          { tool: 'nope' },
          { tool: 'search', input: { q: 1 } },
          { tool: 'batch', input: { calls: [] } },
          { tool: 'final_report', input: { content: 'x' } },
          { tool: 'progress_report', input: { message: 'x' } },
        ),
        report(),
      ],
      definition: { ...withBatch, tools: { search } },
    });
    const calls = callsIn(result);
    expect(calls.map(({ name, slug, executed }) => [name, slug, executed])).toEqual([
      ['batch', null, false],
      ['search', null, true],
      ['nope', 'unknown_tool', false],
      ['search', 'invalid_tool_input', false],
      ['batch', 'tool_not_permitted', false],
      ['final_report', 'tool_not_permitted', false],
      ['progress_report', 'tool_not_permitted', false],
      ['final_report', null, false],
    ]);
    const answers = requests[1]?.body.messages.filter((message) => message.role === 'tool');
    expect(answers).toHaveLength(1);
    expect(String(answers?.[0]?.content)).toMatch(/^\[0\] search: succeeded\n.*\n\n\[1\] nope: failed\n/);
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        toolCalls: {
          requested: 8,
          answered: 8,
          executed: 1,
          succeeded: 1,
          acknowledged: 2,
          rejected: { unknown_tool: 1, invalid_tool_input: 1, tool_not_permitted: 3 },
        },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
      }),
    );
  });

  it('T-2 B-5: a batch that executes nothing fails the attempt, and on the last turn none of its calls are permitted', async () => {
    const { result } = await runOverWire({
      script: [batch({ tool: 'nope' }), batch({ tool: 'search', input: { q: 'a' } }), {}],
      definition: { ...withBatch, tools: { search }, limits: { maxTurns: 1, maxRetries: 2 } },
    });
    expect(result.turns[0]?.attempts.map(({ slugs }) => slugs)).toEqual([
      ['tool_not_permitted', 'unknown_tool'],
      ['tool_not_permitted'],
    ]);
    expect(result.counters.toolCalls.executed).toBe(0);
  });

  it('C-1: limits, approvals and timeouts apply inside a batch, and an invalid batch is answered', async () => {
    const { result } = await runOverWire({
      script: [
        batch({ tool: 'guarded', input: { path: '/' } }, { tool: 'deaf' }, { tool: 'search', input: { q: 'a' } }),
        {
          calls: [
            { name: 'batch', input: { calls: [] } },
            { name: 'batch', input: '{"calls": [' },
            { name: 'batch', input: { calls: [{ tool: 'search', arguments: { q: 'a' } }] } },
          ],
        },
        report(),
      ],
      definition: {
        ...withBatch,
        tools: { search, guarded, deaf },
        limits: { maxToolCallsPerTurn: 2, toolTimeoutMs: 50 },
      },
      during: (event, session) => {
        if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: true });
      },
    });
    expect(callsIn(result).map(({ name, slug }) => [name, slug])).toEqual([
      ['batch', null],
      ['guarded', null],
      ['deaf', 'tool_timeout'],
      ['search', 'tool_limit'],
      ['batch', 'invalid_tool_input'],
      ['batch', 'malformed_tool_call'],
      ['batch', 'invalid_tool_input'],
      ['final_report', null],
    ]);
  });

  it('C-1: an abort answers every call in a batch', async () => {
    const { result } = await runOverWire({
      script: [batch({ tool: 'deaf' }, { tool: 'deaf' })],
      definition: { ...withBatch, tools: { deaf } },
      during: (event, session) => {
        if (event.type === 'tool.started' && event.index === 2) session.abort();
      },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([null, 'aborted', 'aborted']);
  });
});
