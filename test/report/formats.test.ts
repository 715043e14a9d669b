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
const unfit = (reasons: string) => ({ valid: false, slug: 'final_report_schema_fail', reasons });
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

  it.each<[ReportDefinition['format'], string]>([
    ['json', 'the whole text must be JSON: '],
    ['slack', 'the text is not JSON: '],
  ])('F-4: a plain reply in %s that is no JSON', (format, reason) => {
    expect(of(format).parseText('So: {}')).toEqual({ ok: false, reasons: expect.stringContaining(reason) });
  });
});

describe('F-1: blocks of Slack', () => {
  const plain = (text: string) => ({ type: 'plain_text', text });
  const image = { type: 'image', image_url: 'https://a.example/b.png', alt_text: 'b' };
  const element = { type: 'button' };
  it.each<[string, object]>([
    ['a section with fields', { type: 'section', fields: [plain('a')] }],
    ['a field with emoji', { type: 'section', text: { ...plain('a'), emoji: true } }],
    ['a header', { type: 'header', text: plain('a'.repeat(150)) }],
    ['a divider', { type: 'divider', block_id: 'd' }],
    ['a context', { type: 'context', elements: [plain('a'), image] }],
    ['an image', image],
    ['an image of Slack', { type: 'image', slack_file: { id: 'F1' }, alt_text: '' }],
    ['markdown', { type: 'markdown', text: 'a'.repeat(12_000) }],
    ['rich text', { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [] }] }],
    ['actions', { type: 'actions', elements: Array(25).fill(element) }],
    ['a table', { type: 'table', rows: [[{ type: 'raw_text', text: 'a' }]] }],
  ])('%s is accepted as it is', async (_, block) => {
    expect(await of('slack').validate(slack(block))).toEqual(yes(slack(block)));
  });

  it.each<[string, object, string]>([
    ['a section without text', { type: 'section' }, 'messages.0.blocks.0: a section needs text or fields'],
    [
      'a section with a long text',
      { type: 'section', text: plain('a'.repeat(3_001)) },
      'messages.0.blocks.0.text.text: ',
    ],
    ['a section with an empty text', { type: 'section', text: plain('') }, 'messages.0.blocks.0.text.text: '],
    [
      'a section with an empty mrkdwn',
      { type: 'section', text: { type: 'mrkdwn', text: '' } },
      'messages.0.blocks.0.text.text: ',
    ],
    [
      'a section with a long mrkdwn',
      { type: 'section', text: { type: 'mrkdwn', text: 'a'.repeat(3_001) } },
      'messages.0.blocks.0.text.text: ',
    ],
    ['a section without fields', { type: 'section', fields: [] }, 'messages.0.blocks.0.fields: '],
    [
      'a section with 11 fields',
      { type: 'section', fields: Array(11).fill(plain('a')) },
      'messages.0.blocks.0.fields: ',
    ],
    ['a long header', { type: 'header', text: plain('a'.repeat(151)) }, 'messages.0.blocks.0.text.text: '],
    ['an empty header', { type: 'header', text: plain('') }, 'messages.0.blocks.0.text.text: '],
    ['a header in mrkdwn', { type: 'header', text: { type: 'mrkdwn', text: 'a' } }, 'messages.0.blocks.0.text.type: '],
    ['a context of nothing', { type: 'context', elements: [] }, 'messages.0.blocks.0.elements: '],
    ['a context of 11', { type: 'context', elements: Array(11).fill(plain('a')) }, 'messages.0.blocks.0.elements: '],
    [
      'an image without a source',
      { type: 'image', alt_text: 'b' },
      'messages.0.blocks.0: an image needs image_url or slack_file',
    ],
    ['an image at no URL', { ...image, image_url: 'b.png' }, 'messages.0.blocks.0.image_url: '],
    ['an image without words', { type: 'image', image_url: image.image_url }, 'messages.0.blocks.0.alt_text: '],
    ['an image with many words', { ...image, alt_text: 'a'.repeat(2_001) }, 'messages.0.blocks.0.alt_text: '],
    [
      'an image with a long URL',
      { ...image, image_url: `https://a.example/${'a'.repeat(3_000)}` },
      'messages.0.blocks.0.image_url: ',
    ],
    ['empty markdown', { type: 'markdown', text: '' }, 'messages.0.blocks.0.text: '],
    ['long markdown', { type: 'markdown', text: 'a'.repeat(12_001) }, 'messages.0.blocks.0.text: '],
    ['rich text of nothing', { type: 'rich_text', elements: [] }, 'messages.0.blocks.0.elements: '],
    [
      'rich text of elements without a type',
      { type: 'rich_text', elements: [{}] },
      'messages.0.blocks.0.elements.0.type: ',
    ],
    ['actions of nothing', { type: 'actions', elements: [] }, 'messages.0.blocks.0.elements: '],
    [
      'actions of elements without a type',
      { type: 'actions', elements: [{}] },
      'messages.0.blocks.0.elements.0.type: ',
    ],
    ['26 actions', { type: 'actions', elements: Array(26).fill(element) }, 'messages.0.blocks.0.elements: '],
    ['a table without rows', { type: 'table', rows: [] }, 'messages.0.blocks.0.rows: '],
    ['a table of 101 rows', { type: 'table', rows: Array(101).fill([]) }, 'messages.0.blocks.0.rows: '],
    ['a cell without a type', { type: 'table', rows: [[{}]] }, 'messages.0.blocks.0.rows.0.0.type: '],
    ['an unknown block', { type: 'carousel' }, 'messages.0.blocks.0.type: '],
  ])('%s is refused', async (_, block, reason) => {
    expect(await of('slack').validate(slack(block))).toEqual(unfit(expect.stringContaining(reason)));
  });

  it('a message has 1 to 50 blocks, and at most 20 reasons are given', async () => {
    const reasonsFor = async (message: object) => {
      const verdict = await of('slack').validate({ messages: [message] });
      return verdict.valid ? '' : verdict.reasons;
    };
    expect(await reasonsFor({ blocks: [] })).toContain('messages.0.blocks: ');
    expect(await reasonsFor({ text: 5, blocks: [section] })).toContain('messages.0.text: ');
    expect(await reasonsFor({ text: 'a', blocks: Array(50).fill(section) })).toBe('');
    expect(await reasonsFor({ blocks: Array(51).fill(section) })).toContain('messages.0.blocks: ');
    expect((await reasonsFor({ blocks: Array(30).fill({ type: 'section' }) })).split('; ')).toHaveLength(20);
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
    expect(await judgeContent(throwing, 1, limits)).toEqual(failed('no'));
    const clock = manualClock();
    const waiting = judgeContent(
      own(() => new Promise<ReportVerdict>(() => undefined)),
      1,
      { clock, timeoutMs: 50 },
    );
    clock.advance(50);
    expect(await waiting).toEqual(failed('it was not checked in time'));
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
