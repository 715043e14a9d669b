import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import {
  BudgetSpentError,
  cap,
  isBudgetSpent,
  type ResultLimits,
  renderError,
  renderValue,
  success,
  unreadIn,
} from '../../src/tools/result.ts';
import { ToolError } from '../../src/vocabulary/tool-error.ts';

const key = 'planted-3f9c2b7a41';
const limits: ResultLimits = { resultBytes: 1_000, keptBytes: 10_000_000, secrets: [key], keptId: 'c1' };
const hostile = new Proxy(
  {},
  {
    getPrototypeOf: () => {
      throw new Error('no prototype');
    },
  },
);

describe('C-1 C-3: what a tool returned, as a result', () => {
  it.each<[string, unknown, unknown, string]>([
    ['a text', 'done', { success: true, value: 'done', message: 'The tool succeeded.' }, 'done'],
    ['an empty text', '', { success: true, value: '', message: 'The tool succeeded.' }, '(empty)'],
    ['a value', { a: 1n }, { success: true, value: { a: '1' }, message: 'The tool succeeded.' }, '{"a":"1"}'],
    [
      'nothing',
      undefined,
      { success: true, value: null, message: 'The tool returned nothing.' },
      'The tool returned nothing.',
    ],
    [
      'a result with a value',
      { success: true, value: { a: 1 }, message: 'Two\ud800.' },
      { success: true, value: { a: 1 }, message: 'Two\ufffd.' },
      'Two\ufffd.\n{"a":1}',
    ],
    [
      'a result without a value',
      { success: true, value: null, message: 'Written\ud800.' },
      { success: true, value: null, message: 'Written\ufffd.' },
      'Written\ufffd.',
    ],
    [
      'a result without a value or a message',
      { success: true, value: null, message: '' },
      { success: true, value: null, message: 'The tool succeeded without a message.' },
      'The tool succeeded without a message.',
    ],
    [
      'a failure',
      { success: false, value: null, message: 'no such row' },
      { success: false, value: null, message: 'no such row' },
      'no such row',
    ],
    [
      'a failure without a message',
      { success: false, message: '' },
      { success: false, value: null, message: 'The tool failed without a message.' },
      'The tool failed without a message.',
    ],
    [
      'a failure with a key in it',
      { success: false, message: `not ${key}`, url: `https://a/${key}` },
      { success: false, value: { url: 'https://a/[redacted]' }, message: 'not [redacted]' },
      'not [redacted]\n{"url":"https://a/[redacted]"}',
    ],
    [
      'a symbol',
      Symbol('s'),
      { success: false, value: null, message: 'The tool returned a symbol, which cannot be passed on.' },
      'The tool returned a symbol, which cannot be passed on.',
    ],
    [
      'an error',
      new ToolError('full\ud800', { code: 28 }),
      { success: false, value: { code: 28 }, message: 'full\ufffd' },
      'full\ufffd\n{"code":28}',
    ],
    [
      'an error without a message',
      new Error(''),
      { success: false, value: null, message: 'The tool failed without a message.' },
      'The tool failed without a message.',
    ],
    [
      'a stream',
      Readable.from(['x']),
      { success: false, value: null, message: 'The tool returned an unread stream; it must return the content.' },
      'The tool returned an unread stream; it must return the content.',
    ],
  ])('%s', (_, value, result, text) => {
    const rendered = renderValue(value, limits);
    const type = (result as { success: boolean }).success ? 'text' : 'error-text';
    expect(rendered).toEqual({ result, output: { type, value: text }, kept: null });
  });

  it.each<[string, unknown]>([
    ['success with another field', { success: true, value: 1, message: 'm', more: 1 }],
    ['success without a value', { success: true, message: 'm', other: 1 }],
    ['success without a message', { success: true, value: 1, other: 1 }],
    ['success whose message is no text', { success: true, value: 1, message: 1 }],
    ['a failure without a message', { success: false, value: 1 }],
    ['a failure whose message is no text', { success: false, message: 1 }],
    ['success that is no boolean', { success: 'yes', value: 1, message: 'm' }],
    ['a failure that is no boolean', { success: 0, message: 'm' }],
  ])('%s is a value like others', (_, value) => {
    expect(renderValue(value, limits).result).toEqual({ success: true, value, message: 'The tool succeeded.' });
    expect(success(value)).toBe(value);
  });

  it.each<[string, unknown]>([
    ['a result', { success: true, value: 1, message: 'm' }],
    ['a failure', { success: false, message: 'm' }],
  ])('what a service answered stays a success, even if it looks like %s', (_, value) => {
    expect(renderValue(success(value), limits).result).toEqual({
      success: true,
      value,
      message: 'The tool succeeded.',
    });
  });

  it('a value that cannot be read is a failure, and so is its detail', () => {
    const unreadable = {
      get a(): never {
        throw new Error(`no ${key}`);
      },
    };
    expect(renderValue(unreadable, limits).result).toEqual({
      success: false,
      value: null,
      message: "The tool's result cannot be converted to JSON: no [redacted]",
    });
    const failed = Object.defineProperty({ success: false, message: 'm' }, 'value', {
      enumerable: true,
      value: unreadable,
    });
    expect(renderValue(failed, limits).result).toEqual({
      success: false,
      value: 'The details of the failure cannot be converted to JSON.',
      message: 'm',
    });
  });

  it('reads at most 100,000 values of a result, and 10,000 of a failure', () => {
    const items = Array.from({ length: 100_001 }, () => 0);
    const whole = renderValue(items, limits).result.value as unknown[];
    expect([whole.length, whole.at(-1)]).toEqual([100_000, '[2 more left out]']);
    const failed = renderValue({ success: false, message: 'm', value: items }, limits).result.value as unknown[];
    expect([failed.length, failed.at(-1)]).toEqual([10_000, '[90002 more left out]']);
  });
});

describe('C-3: what a tool threw', () => {
  it.each<[string, unknown, string, unknown]>([
    ['an error', new Error('full'), 'full', null],
    ['a text', 'just text', 'just text', null],
    ['an empty text', '', 'The tool failed without a message.', null],
    ['a ToolError with a value', new ToolError('full', [1]), 'full', [1]],
    ['a ToolError without one', new ToolError('full'), 'full', null],
  ])('%s', (_, error, message, value) => {
    expect(renderError(error, limits).result).toEqual({ success: false, value, message });
  });

  it('a hostile value is a failure without a value', () => {
    expect(renderError(hostile, limits).result).toMatchObject({ success: false, value: null });
    expect(isBudgetSpent(hostile)).toBe(false);
  });

  it('B-7: knows the error of a spent budget', () => {
    expect([isBudgetSpent(new BudgetSpentError('spent')), isBudgetSpent(new Error('spent'))]).toEqual([true, false]);
    expect([new BudgetSpentError('spent').name, new ToolError('m').name]).toEqual(['BudgetSpentError', 'ToolError']);
  });
});

describe('a body that nobody read', () => {
  it.each<[string, unknown, string | null]>([
    ['a Response', new Response('x'), 'Response'],
    ['a Blob', new Blob(['x']), 'Blob'],
    ['a File', new File(['x'], 'x.txt'), 'File'],
    ['a ReadableStream', new ReadableStream(), 'ReadableStream'],
    ['a stream of Node', Readable.from(['x']), 'stream'],
    ['an object with a pipe', { pipe: () => undefined }, null],
    ['an object whose pipe is a text', { pipe: 'clay', readable: true }, null],
    ['a readable thing', { readable: true }, null],
    ['a text', 'Response', null],
    ['null', null, null],
    ['a function', () => 1, null],
  ])('%s', (_, value, kind) => expect(unreadIn(value)).toBe(kind));
});

describe('C-1: a text that is too large', () => {
  const long = (bytes: number) => `${'a'.repeat(bytes - 3)}end`;

  it('stays whole up to the limit', () => {
    expect(cap(long(1_000), limits)).toEqual({ text: long(1_000), kept: null });
    expect(cap('a\ud800', limits)).toEqual({ text: 'a\ufffd', kept: null });
  });

  it('is cut in the middle above it, and the gap says how much is missing and how to read it', () => {
    const { text, kept } = cap(long(1_001), limits);
    const half = 'a'.repeat(430);
    const note = '\n[… 141 of 1001 bytes left out here: read all of it with read_result, id c1 …]\n';
    expect(text).toBe(`${half}${note}${'a'.repeat(427)}end`);
    expect(kept).toBe(long(1_001));
  });

  it('is not kept if the model cannot read it', () => {
    const { text, kept } = cap(long(2_000), { ...limits, keptId: null });
    expect(text).toContain('\n[… 1140 of 2000 bytes left out here: the result was too large …]\n');
    expect(kept).toBeNull();
  });

  it('is all left out if the limit has no room for the note', () => {
    expect(cap(long(200), { ...limits, resultBytes: 100 }).text).toBe(
      '\n[… 200 of 200 bytes left out here: read all of it with read_result, id c1 …]\n',
    );
  });

  it('S-5: is not cut inside a secret, at either side', () => {
    for (let before = 425; before <= 431; before += 1) {
      const head = cap(`${'a'.repeat(before)}${key}${'b'.repeat(1_000)}`, limits).text;
      expect(head).toMatch(/^a+\n\[…/);
      const tail = cap(`${'b'.repeat(1_000)}${key}${'a'.repeat(before)}`, limits).text;
      expect(tail).toMatch(/…\]\na+$/);
    }
  });
});

it('S-5: the message of a result that is cut ends before a secret', () => {
  const message = `${'m'.repeat(1_024 - 10)}${key}`;
  const { result } = renderValue({ success: true, value: 'v'.repeat(9_000), message }, { ...limits, keptBytes: 256 });
  expect(result.message).toBe('m'.repeat(1_024 - 10));
  expect(String(result.value)).toContain('left out here');
});
