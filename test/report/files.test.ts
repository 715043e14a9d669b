import { describe, expect, expectTypeOf, it } from 'vitest';
import { defineAgent, type FilePart, runSession } from '../../src/index.ts';
import { counters, run, tokensOf } from '../support/session.ts';
import { modelOf } from '../support/untyped-model.ts';

const picture = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } };
const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } };
const finish = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage };
const said = (text: string) => [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: text },
  { type: 'text-end', id: '0' },
];

describe('F-4: a reply that is a file', () => {
  it('is the report of an agent that asks for files', async () => {
    const agent = defineAgent({ name: 'painter', models: [modelOf([picture, finish])], report: { format: 'files' } });
    const { result } = await run({ agent });
    expect(result.report).toEqual({
      source: 'text_fallback',
      format: 'files',
      content: [picture],
      files: [picture],
      accepted: true,
    });
    expect(result.counters).toEqual(
      counters({ turns: 1, attempts: 1, reports: { attempted: 1 }, tokens: tokensOf(1), costUsd: null }),
    );
    expectTypeOf((await runSession(agent, { prompt: 'Paint.', logger: false })).report.content).toEqualTypeOf<
      FilePart[] | string
    >();
  });

  it('text alone is no report of files, and says why', async () => {
    const agent = defineAgent({
      name: 'painter',
      models: [modelOf([...said('I cannot.'), finish], [...said('Here.'), picture, finish])],
      report: { format: 'files' },
    });
    const { result } = await run({ agent });
    expect(result.turns[0]?.attempts[0]?.slugs).toEqual(['final_report_missing']);
    expect(result.report).toMatchObject({ content: [picture] });
  });

  it('is the answer of an agent that finishes by text', async () => {
    const agent = defineAgent({ name: 'chatting', models: [modelOf([picture, finish])], finish: 'text' });
    const { result } = await run({ agent });
    expect(result.report).toMatchObject({ content: '[image/png]', files: [picture], accepted: true });
    const both = defineAgent({
      name: 'chatting',
      models: [modelOf([...said('Here.'), picture, finish])],
      finish: 'text',
    });
    expect((await run({ agent: both })).result.report).toMatchObject({ content: 'Here.', files: [picture] });
  });

  it('is nothing to an agent that reports by a tool', async () => {
    const agent = defineAgent({ name: 'plain', models: [modelOf([picture, finish])], limits: { maxRetries: 1 } });
    expect((await run({ agent })).result.slugs).toEqual(['retries_exhausted', 'no_tools']);
  });

  it('an agent that reports files by a tool is refused', () => {
    expect(() =>
      defineAgent({ name: 'a', models: [modelOf([])], report: { format: 'files' }, finish: 'report' }),
    ).toThrow('`finish` must be text, since a report of files is a plain reply; got "report".');
  });
});
