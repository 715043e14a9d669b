import { describe, expect, it } from 'vitest';
import type { ToolOutput } from '../../machines/index.ts';
import { capOutput } from '../../src/tools/result.ts';

const said = (value: string) => ({ type: 'text', value }) as const;

describe('C-1: an output of limited size', () => {
  const limits = { resultBytes: 400, keptBytes: 100_000, secrets: [], keptId: 'r' };
  const long = 'a'.repeat(401);
  const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'A'.repeat(900) } } as const;
  const text = (value: string) => ({ type: 'text', text: value }) as const;
  const content = (...value: (typeof file | ReturnType<typeof text>)[]): ToolOutput => ({ type: 'content', value });
  const marked = { ...text('a'), providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } };
  const cut = expect.stringMatching(/^a+\n\[… .* read_result, id r …\]\na+$/);
  const json = JSON.stringify({ a: 'b'.repeat(392) });
  it.each<[string, ToolOutput, ToolOutput, string | null]>([
    ['a text', said('a'), said('a'), null],
    ['an empty text', said(''), said('(empty)'), null],
    ['a long text', said(long), said(cut), long],
    ['a long failure', { type: 'error-text', value: long }, { type: 'error-text', value: cut }, long],
    [
      'JSON of just the size',
      { type: 'json', value: JSON.parse(json) },
      { type: 'json', value: JSON.parse(json) },
      null,
    ],
    ['long JSON', { type: 'json', value: long }, said(expect.stringMatching(/^"a/)), `"${long}"`],
    [
      'a failure with long JSON',
      { type: 'error-json', value: long },
      { type: 'error-text', value: expect.stringMatching(/^"a/) },
      `"${long}"`,
    ],
    ['a failure with JSON', { type: 'error-json', value: 1 }, { type: 'error-json', value: 1 }, null],
    ['a refusal', { type: 'execution-denied', reason: long }, { type: 'execution-denied', reason: long }, null],
    ['a file alone', content(file), content(file), null],
    ['a file between texts', content(text('a'), file, text('b')), content(text('a'), file, text('b')), null],
    ['a file between empty texts', content(text(''), file, text('')), content(file), null],
    [
      'a file and texts of just the size',
      content(text('a'.repeat(400)), file),
      content(text('a'.repeat(400)), file),
      null,
    ],
    ['a file and a long text', content(file, text(long)), content(text(cut), file), long],
    [
      'a file and texts that are too long together',
      content(text('a'.repeat(300)), file, text(''), text('a'.repeat(101))),
      content(text(expect.stringContaining('left out here')), file),
      `${'a'.repeat(300)}\n${'a'.repeat(101)}`,
    ],
    ['a text with options for providers', content(marked), content(marked), null],
    ['texts alone', content(text('a'), text(''), text('b')), said('a\nb'), null],
    ['no piece', content(), said('(empty)'), null],
  ])('%s', (_, output, expected, kept) => expect(capOutput(output, limits)).toEqual({ output: expected, kept }));

  it('what the size says is the size', () => expect(Buffer.byteLength(json)).toBe(400));
});
