import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ReportVerdict } from '../../machines/index.ts';
import { counters, report, runOverWire, tokensOf } from '../support/session.ts';
import { failing, search, searchCall } from '../support/tools.ts';

const schema = z.object({ answer: z.string() });
const json = { format: 'json', schema } as const;
const rejection = (slug: string) => ({ [slug]: 1 });

describe('the final report', () => {
  it('F-2 B-4: three invalid reports followed by a valid one cause one collapse and end in success', async () => {
    const { result } = await runOverWire({
      script: [
        { calls: [{ name: 'final_report', input: {} }] },
        report('not an object'),
        report({ answer: 42 }),
        report({ answer: 'forty-two' }),
      ],
      definition: { report: json, limits: { maxRetries: 4 } },
    });
    expect(result.report).toEqual({
      source: 'tool_call',
      format: 'json',
      content: { answer: 'forty-two' },
      accepted: true,
    });
    expect(result.turns[0]?.attempts.map((attempt) => attempt.slugs)).toEqual([
      ['final_report_missing'],
      ['final_report_schema_fail'],
      ['final_report_schema_fail'],
      [],
    ]);
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 4,
        failedAttempts: 3,
        notices: 3,
        collapses: 1,
        toolCalls: {
          requested: 4,
          answered: 4,
          acknowledged: 1,
          rejected: { ...rejection('final_report_missing'), final_report_schema_fail: 2 },
        },
        reports: { attempted: 4, rejected: 3 },
        tokens: tokensOf(4),
        costUsd: null,
        slugs: { ...rejection('final_report_missing'), final_report_schema_fail: 2 },
      }),
    );
  });

  const tweet = '{"tweet":1780000000000000001}';
  it.each([
    ['in its call', { calls: [{ name: 'final_report', input: `{"content":${tweet}}` }] }, 'report' as const],
    ['as text', { text: tweet }, 'text' as const],
  ])('C-5 F-2: an integer that no number holds is refused %s', async (_what, reply, finish) => {
    const { result, requests } = await runOverWire({
      script: [
        reply,
        finish === 'text' ? { text: '{"tweet":"1780000000000000001"}' } : report({ tweet: '1780000000000000001' }),
      ],
      definition: { report: { format: 'json' }, finish },
    });
    expect(result.report.content).toEqual({ tweet: '1780000000000000001' });
    const told = `${tweet.slice(9, -1)} is more than a number holds exactly`;
    if (finish === 'report') expect(JSON.stringify(requests[1]?.body.messages)).toContain(told);
    expect(result.counters).toMatchObject({
      attempts: 2,
      failedAttempts: 1,
      collapses: 1,
      reports: { attempted: 2, rejected: 1 },
    });
  });

  it('B-4 F-2: a rejected report in a reply with an executed tool makes the next turn the last', async () => {
    const { result, events } = await runOverWire({
      script: [{ calls: [...searchCall.calls, { name: 'final_report', input: { content: ' ' } }] }, report()],
      definition: { tools: { search }, limits: { maxTurns: 8 } },
    });
    expect(
      events.flatMap((event) => (event.type === 'session.collapsed' ? [[event.from, event.to, event.reason]] : [])),
    ).toEqual([[8, 2, 'final_report_rejected']]);
    expect(result.turns.map((turn) => turn.isLastTurn)).toEqual([false, true]);
    expect(result.turns[1]?.attempts[0]?.notice).toContain('final_report_missing');
  });

  it('F-3: other calls in the same reply as a valid report are executed first', async () => {
    const { result } = await runOverWire({
      script: [
        { calls: [{ name: 'final_report', input: { content: 'done' } }, ...searchCall.calls, { name: 'failing' }] },
      ],
      definition: { tools: { search, failing } },
    });
    expect(result.status).toBe('succeeded');
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 1,
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 1, failed: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(1),
        costUsd: null,
      }),
    );
  });

  it('F-2: if a reply holds several reports, the first valid one counts', async () => {
    const { result } = await runOverWire({
      script: [{ calls: ['', 'first', 'second'].map((content) => ({ name: 'final_report', input: { content } })) }],
    });
    expect(result.report.content).toBe('first');
    expect(result.counters.toolCalls.rejected).toEqual({ final_report_missing: 1, final_report_repeated: 1 });
    expect(result.counters.collapses).toBe(0);
  });

  it('F-4 T-5: only on the last turn, valid plain text is the report', async () => {
    const { result } = await runOverWire({
      script: [{ text: 'The answer is 42.' }, searchCall, { text: 'The answer is 42.' }],
      definition: { tools: { search }, limits: { maxTurns: 2 } },
    });
    expect(result.report).toMatchObject({ source: 'text_fallback', content: 'The answer is 42.', accepted: true });
    expect(result.counters).toMatchObject({ attempts: 3, failedAttempts: 1, reports: { attempted: 1, rejected: 0 } });
  });

  it('F-4: text that the validator rejects is not the report', async () => {
    const { result } = await runOverWire({
      script: [{ text: 'forty-two' }, { text: '{"answer":"42"}' }],
      definition: { report: json, limits: { maxTurns: 1 } },
    });
    expect(result.turns[0]?.attempts[0]?.slugs).toEqual(['text_only', 'final_report_invalid_format']);
    expect(result.report).toMatchObject({ source: 'text_fallback', content: { answer: '42' } });
  });

  it('F-4: text cut off by length is never the report', async () => {
    const { result } = await runOverWire({
      script: [{ text: 'The answer is', finishReason: 'length' }],
      definition: { limits: { maxTurns: 1, maxRetries: 1 } },
    });
    expect(result.slugs).toEqual(['retries_exhausted', 'max_turns_exhausted', 'text_only', 'response_truncated']);
  });

  it("F-4: with finish 'text' any plain-text reply is the report, and no final_report is offered", async () => {
    const { result, requests } = await runOverWire({
      script: [searchCall, { text: 'Hello!' }],
      definition: { tools: { search }, finish: 'text' },
    });
    expect(result.report).toMatchObject({ source: 'text_fallback', content: 'Hello!' });
    expect(requests[0]?.body.tools?.map((one) => one.function?.name)).toEqual(['search']);
  });

  it('F-6: a status that the model adds to its report changes nothing', async () => {
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'final_report', input: { status: 'failure', content: 'I could not.' } }] }],
    });
    expect(result).toMatchObject({ status: 'succeeded', report: { content: 'I could not.' } });
  });

  it('F-1: Slack reports need a non-empty messages array of valid blocks', async () => {
    const good = { messages: [{ blocks: [{ type: 'section', text: { type: 'mrkdwn', text: '*Hi*' } }] }] };
    const { result } = await runOverWire({
      script: [
        report('text'),
        report({ messages: [] }),
        report({ messages: [{ blocks: [{ type: 'section' }] }] }),
        report({ messages: [{ blocks: [{ type: 'header', text: { type: 'plain_text', text: 'x'.repeat(151) } }] }] }),
        report(good),
      ],
      definition: { report: { format: 'slack' }, limits: { maxRetries: 5 } },
    });
    expect(result.turns[0]?.attempts.flatMap((attempt) => attempt.slugs)).toEqual([
      'final_report_invalid_format',
      'final_report_missing',
      'final_report_schema_fail',
      'final_report_schema_fail',
    ]);
    expect(result.report.content).toEqual(good);
  });

  it.each<[string, unknown]>([
    ['an unknown slug', { valid: false, slug: 'too_short', reasons: 'too short' }],
    ['no reasons', { valid: false, slug: 'final_report_missing', reasons: 7 }],
    ['an undefined report', { valid: true, content: undefined }],
  ])('F-1 S-1: %s from a custom format counts as no verdict', async (_, verdict) => {
    const format = {
      name: 'odd',
      description: 'Odd.',
      contentSchema: {},
      validate: () => verdict as ReportVerdict,
      parseText: (content: string) => ({ ok: true, content }) as const,
    };
    const { result } = await runOverWire({
      script: [report(), report()],
      definition: { report: { format }, limits: { maxTurns: 1, maxRetries: 2 } },
    });
    expect(result.turns[0]?.attempts.map(({ slugs }) => slugs)).toEqual([['check_failed'], ['check_failed']]);
    expect(JSON.stringify(result.conversation)).toContain('the format odd returned no verdict on it');
  });

  it('F-2: a blank JSON report counts as missing', async () => {
    const { result } = await runOverWire({
      script: [report(' '), report('done')],
      definition: { report: { format: 'json' } },
    });
    expect(result.report.content).toBe('done');
    expect(result.turns[0]?.attempts[0]?.slugs).toEqual(['final_report_missing']);
  });

  it('F-1: a custom format validates its own reports', async () => {
    const { result } = await runOverWire({
      script: [report('a;b'), report('a,b')],
      definition: {
        report: {
          format: {
            name: 'csv',
            description: 'Comma-separated values.',
            contentSchema: { type: 'string' },
            validate: (content) =>
              String(content).includes(',')
                ? { valid: true, content: String(content) }
                : { valid: false, slug: 'final_report_invalid_format', reasons: 'no comma' },
            parseText: (text) => ({ ok: true, content: text }),
          },
        },
      },
    });
    expect(result.report).toMatchObject({ format: 'csv', content: 'a,b' });
  });

  it('F-5: the synthetic report of a failed session states what was attempted, why it failed, and how often', async () => {
    const { result } = await runOverWire({
      script: [{ text: 'My last words.' }],
      definition: { limits: { maxRetries: 2 } },
    });
    const { source, content } = result.report;
    expect(source).toBe('synthetic');
    for (const part of ['Do the task.', 'retries_exhausted', 'text_only x 2', '2 requests', 'My last words.']) {
      expect(content).toContain(part);
    }
  });
});
