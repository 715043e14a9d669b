import { describe, expect, it } from 'vitest';
import { McpResult } from '../../../src/tools/mcp/calls/result.ts';
import { ToolError } from '../../../src/vocabulary/tool-error.ts';

const result = (content: unknown[], structuredContent?: Record<string, unknown>) =>
  new McpResult(Object({ content, ...(structuredContent && { structuredContent }) }));
const text = (words: string) => ({ type: 'text', text: words });
const image = (data: string, mimeType = 'image/png') => ({ type: 'image', data, mimeType });
const file = (data: string, mediaType = 'image/png') => ({ type: 'file', mediaType, data: { type: 'data', data } });

describe('what a server returns, as the model and the record get it', () => {
  it('texts are joined by lines, and empty ones are left out', () => {
    const two = result([text('one'), text(''), text('two')]);
    expect(two.output()).toEqual({ type: 'text', value: 'one\ntwo' });
    expect(two.toJSON()).toBe('one\ntwo');
  });

  it('an empty result says so to the model, and is empty in the record', () => {
    for (const empty of [result([]), result([text('')])]) {
      expect(empty.output()).toEqual({ type: 'text', value: 'The tool returned an empty result.' });
      expect(empty.toJSON()).toBe('');
    }
  });

  it('files that providers take are passed on, and the record names their type', () => {
    for (const type of ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf']) {
      const one = result([text('see'), image('QUJD', type)]);
      expect(one.output()).toEqual({ type: 'content', value: [text('see'), file('QUJD', type)] });
      expect(one.toJSON()).toBe(`see\n[${type}]`);
    }
    expect(result([image('QUJD', 'image/jpg')]).output()).toEqual({
      type: 'content',
      value: [file('QUJD', 'image/jpeg')],
    });
    expect(result([image('QUJD')]).toJSON()).toBe('[image/png]');
  });

  it.each([
    [{ type: 'audio', data: 'QUJD', mimeType: 'audio/wav' }, '[audio/wav, 4 bytes of base64: not passed on]'],
    [image('', 'image/png'), '[image/png, 0 bytes of base64: not passed on]'],
    [image('QUJD', ''), '[file of unknown type, 4 bytes of base64: not passed on]'],
    [
      { type: 'resource', resource: { uri: 'a:b', blob: 'QUJD' } },
      '[resource a:b] [application/octet-stream, 4 bytes of base64: not passed on]',
    ],
    [{ type: 'resource', resource: { uri: 'a:b', text: 'words' } }, '[resource a:b]\nwords'],
    [{ type: 'resource_link', uri: 'a:b', name: 'B' }, '[resource B: a:b]'],
    [
      { type: 'resource_link', uri: 'a:b', name: 'B', mimeType: 'text/csv', description: 'all rows' },
      '[resource B: a:b (text/csv, all rows)]',
    ],
    [{ type: 'resource_link', uri: 'a:b', name: 'B', description: 'all rows' }, '[resource B: a:b (all rows)]'],
    [{ type: 'video', frames: 2 }, '[content of unknown type: {"type":"video","frames":2}]'],
  ])('content that is not passed on is named: %j', (block, words) => {
    const one = result([block]);
    expect(one.output()).toEqual({ type: 'text', value: words });
    expect(one.toJSON()).toBe(words);
  });

  it('a blob of a type that providers take is a file', () => {
    const one = result([{ type: 'resource', resource: { uri: 'a:b', blob: 'QUJD', mimeType: 'application/pdf' } }]);
    expect(one.output()).toEqual({ type: 'content', value: [file('QUJD', 'application/pdf')] });
  });

  it('files of more than 8 MiB together are left out, and the rest says so', () => {
    const half = 'A'.repeat(4 * 1_024 * 1_024);
    expect(result([image(half), image(half)]).output()).toEqual({ type: 'content', value: [file(half), file(half)] });
    expect(result([image(half), image(half), image('QUJD'), text('end')]).output()).toEqual({
      type: 'content',
      value: [file(half), file(half), text('[image/png: omitted; the files are too large in total]'), text('end')],
    });
  });

  it('C-3: an error has the text of the result and its structured content, or says that there is no message', () => {
    const error = result([text('no such file')], { code: 7 }).asError();
    expect(error).toBeInstanceOf(ToolError);
    // The model reads the message and then the value: each once.
    expect(error.message).toBe('no such file');
    expect(error).toMatchObject({ value: { code: 7 } });
    expect(result([text('{"code":7}')], { code: 7 }).asError()).toMatchObject({ message: '{"code":7}', value: null });
    expect(result([]).asError().message).toBe('The tool failed without an error message.');
  });
});

describe('structured content reaches the model once', () => {
  const isAdded = (words: string, structured: Record<string, unknown>) => {
    const { text: told } = result(words === '' ? [] : [text(words)], structured);
    expect([words, words === '' ? JSON.stringify(structured) : `${words}\n${JSON.stringify(structured)}`]).toContain(
      told,
    );
    return told !== words;
  };

  it('the record is the structured content, whatever the text says', () => {
    expect(result([text('done'), image('QUJD')], { a: [1, { b: null }] }).toJSON()).toEqual({ a: [1, { b: null }] });
  });

  it('values without a JSON form are left out, as on the wire', () => {
    expect(result([], { a: undefined, b: new Date(0) }).toJSON()).toEqual({ b: '1970-01-01T00:00:00.000Z' });
  });

  it.each([
    ['', { a: 1 }, true],
    ['nothing', {}, true],
    ['{}', {}, false],
    [' { "b": [2], "a": 1 } ', { a: 1, b: [2] }, false],
    ['[1]', { a: 1 }, true],
    ['{"a":2}', { a: 1 }, true],
    ['a is 1', { a: 1 }, true],
    ['a 1 {"a":1}', { a: 1 }, true],
  ])('%j with %j is added to, unless it is the same JSON: %s', (words, structured, added) => {
    expect(isAdded(words, structured)).toBe(added);
  });
});
