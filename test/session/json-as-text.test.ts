import { jsonSchema } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { counters, runOverWire, tokensOf } from '../support/session.ts';

const shape = z.object({ title: z.string(), rows: z.array(z.object({ n: z.number() })) });
const json = jsonSchema<{ title: string; rows: { n: number }[] }>({
  type: 'object',
  properties: {
    title: { type: 'string' },
    rows: { type: 'array', items: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
  },
  required: ['title', 'rows'],
});
const good = { title: '{"a":1}', rows: [{ n: 1 }] };
const reported = (content: unknown) => ({ calls: [{ name: 'final_report', input: { content } }] });
const accepted = { turns: 1, attempts: 1, tokens: tokensOf(1), costUsd: null, reports: { attempted: 1 } };
const refused = { final_report_schema_fail: 1, max_turns_exhausted: 1, retries_exhausted: 1 };

describe('F-2c: a JSON report that is sent as a text of itself', () => {
  describe.each([
    ['zod', shape],
    ['JSON Schema', json],
  ])('%s', (_name, schema) => {
    it.each([
      ['the whole content', JSON.stringify(good)],
      ['a field', { ...good, rows: JSON.stringify(good.rows) }],
      ['a field within a list', { ...good, rows: ['{"n":1}'] }],
      ['a field of a content that is a text', JSON.stringify({ ...good, rows: JSON.stringify(good.rows) })],
      ['a number', { ...good, rows: [{ n: '1' }] }],
    ])('is judged by what %s is the JSON of, and a text that may be one stays', async (_what, content) => {
      const { result } = await runOverWire({
        script: [reported(content)],
        definition: { report: { format: 'json', schema } },
      });
      expect(result.report.content).toEqual(good);
      expect(result.counters).toEqual(
        counters({ ...accepted, toolCalls: { requested: 1, answered: 1, acknowledged: 1 } }),
      );
    });

    it.each([
      ['half of it', JSON.stringify(good).slice(0, -1)],
      ['something beside it', `Here: ${JSON.stringify(good)}`],
      ['a number that no number holds', `{"title":"a","rows":[{"n":12345678901234567890}]}`],
      ['JSON of another shape', '{"title":"a"}'],
    ])('is refused if it is %s', async (_what, content) => {
      const { result, requests } = await runOverWire({
        script: [reported(content)],
        definition: { report: { format: 'json', schema }, limits: { maxTurns: 1, maxRetries: 1 } },
      });
      expect(requests).toHaveLength(1);
      expect(result.counters).toEqual(
        counters({
          ...{ ...accepted, failedAttempts: 1, notices: 1, slugs: { ...refused, final_report_schema_fail: 2 } },
          reports: { attempted: 1, rejected: 1 },
          toolCalls: { requested: 1, answered: 1, rejected: { final_report_schema_fail: 1 } },
        }),
      );
    });
  });

  it.each(['{"content": "x', 'null', '[]', '"text"'])(
    'F-2b: a report whose input is no JSON object (%s) is rejected, and collapses the session',
    async (input) => {
      const { result } = await runOverWire({
        script: [{ calls: [{ name: 'final_report', input }] }, reported('Done.')],
      });
      expect(result.turns[0]?.attempts[0]?.slugs).toEqual(['final_report_invalid_format']);
      expect(result.counters).toEqual(
        counters({
          ...{ turns: 1, attempts: 2, failedAttempts: 1, notices: 1, collapses: 1, tokens: tokensOf(2), costUsd: null },
          ...{ slugs: { final_report_invalid_format: 1 }, reports: { attempted: 2, rejected: 1 } },
          toolCalls: { requested: 2, answered: 2, acknowledged: 1, rejected: { final_report_invalid_format: 1 } },
        }),
      );
    },
  );

  it('C-5: an input of a tool is never taken so, and the answer says what to send', async () => {
    const ran: unknown[] = [];
    const { result } = await runOverWire({
      script: [
        { calls: [{ name: 'put', input: { row: '{"n":1}' } }] },
        { calls: [{ name: 'put', input: JSON.stringify('{"row":{"n":1}}') }] },
        reported('Done.'),
      ],
      definition: {
        tools: {
          put: {
            inputSchema: z.object({ row: z.object({ n: z.number() }) }),
            execute: (input: unknown) => ran.push(input),
          } as never,
        },
      },
    });
    expect(ran).toEqual([]);
    const answers = result.turns.flatMap(({ attempts }) =>
      attempts.map(({ calls }) => JSON.stringify(calls[0]?.output)),
    );
    expect(answers[0]).toContain('At row: send the object, not a string of it.');
    expect(answers[1]).toContain('send the object, not a string of it');
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 3, failedAttempts: 2, notices: 2, tokens: tokensOf(3), costUsd: null },
        ...{ slugs: { invalid_tool_input: 1, malformed_tool_call: 1 }, reports: { attempted: 1 } },
        toolCalls: {
          requested: 3,
          answered: 3,
          acknowledged: 1,
          rejected: { invalid_tool_input: 1, malformed_tool_call: 1 },
        },
      }),
    );
  });
});
