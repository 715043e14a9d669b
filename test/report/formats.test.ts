import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { FilePart, ReportVerdict } from '../../machines/index.ts';
import {
  type ContentVerdict,
  judgeCall,
  judgeContent,
  judgeReply,
  type ReportFormat,
} from '../../src/report/format.ts';
import { type ReportDefinition, reportFormat } from '../../src/report/registry.ts';
import { manualClock } from '../../src/testing/index.ts';

const of = (format: ReportDefinition['format'], schema?: ReportDefinition['schema']) =>
  reportFormat({ format, ...(schema !== undefined && { schema }) });
const yes = (content: unknown) => ({ valid: true, content });
const missing = (reasons: string) => ({ valid: false, slug: 'final_report_missing', reasons });
const wrong = (reasons: string) => ({ valid: false, slug: 'final_report_invalid_format', reasons });
const failed = (reasons: string) => ({ valid: false, slug: 'check_failed', reasons });
const section = { type: 'section', text: { type: 'mrkdwn', text: 'a' } };
const slack = (...blocks: object[]) => ({ messages: [{ blocks }] });

describe('F-1: built-in formats', () => {
  it.each<[string, ReportFormat, unknown, object]>([
    ['text', of('text'), 'Done.', yes('Done.')],
    ['text, missing', of('text'), undefined, missing('content is missing')],
    ['text, null', of('text'), null, missing('content is missing')],
    ['text, blank', of('text'), ' \n', missing('content is empty')],
    ['text, a number', of('text'), 5, wrong('content must be a text string')],
    ['markdown, an object', of('markdown'), {}, wrong('content must be a markdown string')],
    ['JSON', of('json'), { a: [1n] }, yes({ a: ['1'] })],
    ['JSON, a text', of('json'), 'a', yes('a')],
    ['JSON, zero', of('json'), 0, yes(0)],
    ['JSON, missing', of('json'), undefined, missing('content is missing')],
    ['JSON, blank', of('json'), ' ', missing('content is blank')],
    ['JSON, null', of('json'), null, missing('content is null')],
    ['JSON, null, if the schema says so', of('json', z.null()), null, yes(null)],
    ['JSON, as the schema changes it', of('json', z.object({ a: z.coerce.number() })), { a: '1' }, yes({ a: 1 })],
    [
      'JSON, a set',
      of(
        'json',
        z.array(z.number()).transform((list) => new Set(list)),
      ),
      [1, 1],
      yes([1]),
    ],
    ['files', of('files'), [{ type: 'file' }], yes([{ type: 'file' }])],
    ['files, none', of('files'), [], missing('the reply holds no file')],
    ['files, a text', of('files'), 'a.png', missing('the reply holds no file')],
    ['Slack', of('slack'), slack(section), yes(slack(section))],
    ['Slack, missing', of('slack'), undefined, missing('content is missing')],
    ['Slack, null', of('slack'), null, missing('content is missing')],
    ['Slack, a text', of('slack'), 'a', wrong('content must be an object with an array named messages')],
    [
      'Slack, blocks alone',
      of('slack'),
      { blocks: [section] },
      wrong('content must be an object with an array named messages'),
    ],
    [
      'Slack, one message',
      of('slack'),
      { messages: { blocks: [] } },
      wrong('content must be an object with an array named messages'),
    ],
    ['Slack, no message', of('slack'), { messages: [] }, missing('messages is empty')],
  ])('%s', async (_, format, content, verdict) => expect(await format.validate(content)).toEqual(verdict));

  it('JSON against the schema says what is wrong', async () => {
    const verdict = await of('json', z.object({ a: z.number() })).validate({ a: 'x' });
    expect(verdict).toMatchObject({ valid: false, slug: 'final_report_schema_fail' });
    expect((verdict as { reasons: string }).reasons).toContain('a');
  });

  it.each<[ReportDefinition['format'], string, unknown]>([
    ['text', ' a ', { ok: true, content: ' a ' }],
    ['markdown', '# a', { ok: true, content: '# a' }],
    ['json', '{"a":1}', { ok: true, content: { a: 1 } }],
    ['slack', '[]', { ok: true, content: [] }],
    ['files', 'a', { ok: true, content: [] }],
  ])('F-4: a plain reply in %s, %j', (format, text, parsed) => expect(of(format).parseText(text)).toEqual(parsed));

  describe.each<ReportDefinition['format']>(['json', 'slack'])('F-4: a plain reply in %s', (format) => {
    it.each([
      ['is no JSON', 'So: {}', 'the whole text must be JSON: '],
      [
        'has an integer that no number holds',
        '{"messages":[{"blocks":[],"id":9007199254740993}]}',
        '9007199254740993 is more than a number holds exactly',
      ],
    ])('is refused if it %s', (_what, text, reason) => {
      expect(of(format).parseText(text)).toEqual({ ok: false, reasons: expect.stringContaining(reason) });
    });
  });
});

describe('N-1: who judges a report', () => {
  const file: FilePart = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AA' } };
  const limits = { clock: manualClock(), timeoutMs: null };
  const own = (validate: (content: unknown) => unknown, more: Partial<ReportFormat> = {}): ReportFormat => ({
    name: 'own',
    description: 'Anything.',
    contentSchema: {},
    validate: validate as (content: unknown) => ContentVerdict,
    parseText: (text) => ({ ok: true, content: `parsed ${text}` }),
    ...more,
  });
  const echo = own((content) => ({ valid: true, content }));

  it('a call is judged by its content alone, and so is what an application puts in its place', async () => {
    expect(await judgeCall(echo, { content: { a: 1 }, success: false }, limits)).toEqual(yes({ a: 1 }));
    expect(await judgeContent(echo, { content: 1 }, limits)).toEqual(yes({ content: 1 }));
  });

  it('F-4: a plain reply is judged by its text; without one, by its files', async () => {
    expect(await judgeReply(echo, 'a', [file], limits)).toEqual(yes('parsed a'));
    expect(await judgeReply(echo, ' ', [file, file], limits)).toEqual(yes('parsed [image/png]\n[image/png]'));
    const ofFiles = own(echo.validate, { parseFiles: (files) => files });
    expect(await judgeReply(ofFiles, 'a', [file], limits)).toEqual(yes([file]));
    const strict = own(echo.validate, { parseText: () => ({ ok: false, reasons: 'not so' }) });
    expect(await judgeReply(strict, 'a', [], limits)).toEqual(wrong('not so'));
  });

  it.each<[string, unknown]>([
    ['an accepted report', { valid: true, content: 1 }],
    ['null as the report', { valid: true, content: null }],
    ['a refusal', { valid: false, slug: 'final_report_missing', reasons: 'a' }],
    ['a refusal by the format', { valid: false, slug: 'final_report_invalid_format', reasons: 'a' }],
    ['a refusal by the schema', { valid: false, slug: 'final_report_schema_fail', reasons: '' }],
  ])('%s is a verdict', async (_, verdict) => {
    expect(
      await judgeContent(
        own(() => verdict),
        1,
        limits,
      ),
    ).toEqual(verdict);
    expect(
      await judgeContent(
        own(async () => verdict),
        1,
        limits,
      ),
    ).toEqual(verdict);
  });

  it.each<[string, unknown]>([
    ['true', true],
    ['null', null],
    ['nothing', undefined],
    ['an object', {}],
    ['an accepted report without content', { valid: true }],
    ['an accepted report whose content is undefined', { valid: true, content: undefined }],
    ['a refusal without reasons', { valid: false, slug: 'final_report_missing' }],
    ['a refusal whose reasons are no text', { valid: false, slug: 'final_report_missing', reasons: ['a'] }],
    ['a refusal without a slug', { valid: false, reasons: 'a' }],
    ['a refusal with another slug', { valid: false, slug: 'report_denied', reasons: 'a' }],
    ['a half verdict', { valid: 'yes', content: 1, reasons: 'a', slug: 'final_report_missing' }],
  ])('%s is no verdict, and the model is not at fault', async (_, verdict) => {
    expect(
      await judgeContent(
        own(() => verdict),
        1,
        limits,
      ),
    ).toEqual(failed('the format own returned no verdict on it'));
  });

  it('a format that throws, or takes too long, is not the fault of the model', async () => {
    const throwing = own(() => {
      throw new Error('no');
    });
    expect(await judgeContent(throwing, 1, limits)).toEqual(failed('the format own failed on it: no'));
    const clock = manualClock();
    const waiting = judgeContent(
      own(() => new Promise<ReportVerdict>(() => undefined)),
      1,
      { clock, timeoutMs: 50 },
    );
    clock.advance(50);
    expect(await waiting).toEqual(failed('the format own failed on it: it was not checked in time'));
  });
});

describe('F-1: an invalid definition', () => {
  const own = { name: 'own', description: 'a', contentSchema: {}, validate: () => yes(1), parseText: () => yes(1) };
  const error = (code: string, message: string) =>
    expect.objectContaining({ code, message: expect.stringContaining(message) });

  it('a format of your own has all its parts', () => {
    expect(of(own as never)).toBe(own);
    for (const part of Object.keys(own)) {
      const { [part as 'name']: _, ...rest } = own;
      expect(() => of(rest as never), part).toThrow(
        error(
          'invalid_format',
          '`report.format` must be one of text, markdown, json, slack, files, or an object with name',
        ),
      );
    }
    for (const broken of [{ ...own, name: 5 }, { ...own, validate: 'yes' }, { ...own, parseText: {} }, null, 'html', 5])
      expect(() => of(broken as never)).toThrow(error('invalid_format', '`report.format` must be one of'));
  });

  it('a schema is for JSON alone', () => {
    expect(() => of('text', z.string())).toThrow(
      error('invalid_format', '`report.schema` needs the format "json"; got "text".'),
    );
    expect(() => of(own as never, z.string())).toThrow(
      error('invalid_format', '`report.schema` needs the format "json"; got "own".'),
    );
    for (const missing of [undefined, null, 7])
      expect(() => of(missing as never, z.string())).toThrow(
        error('invalid_format', `\`report.schema\` needs the format "json"; got ${missing}.`),
      );
    expect(() => of('json', 5 as never)).toThrow(error('invalid_schema', '`report.schema`'));
  });

  it('each says to the model what it wants', async () => {
    for (const format of ['text', 'markdown', 'json', 'slack', 'files'] as const) {
      expect(of(format)).toMatchObject({ name: format, description: expect.stringMatching(/^(?:Your|One) .+\.$/) });
    }
    expect(await of('text').contentSchema).toMatchObject({ type: 'string', minLength: 1 });
    expect(await of('json').contentSchema).toEqual({});
    expect(await of('json', z.object({ a: z.number() })).contentSchema).toMatchObject({ required: ['a'] });
    expect(await of('files').contentSchema).toEqual({ type: 'array', minItems: 1 });
    expect(await of('slack').contentSchema).toMatchObject({
      type: 'object',
      required: ['messages'],
      properties: { messages: { type: 'array', minItems: 1, items: { required: ['blocks'] } } },
    });
  });
});
