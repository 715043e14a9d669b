import { describe, expect, it } from 'vitest';
import { messageOf, onRejection, PawlError, Problems, stackOf } from '../../src/input/errors.ts';

const hostile = new Proxy(new Error('x'), {
  get: () => {
    throw new Error('hostile');
  },
});

describe('the message of anything that is thrown', () => {
  it.each([
    [new Error('broken'), 'broken'],
    ['a text', 'a text'],
    [undefined, 'undefined'],
    [{ code: 7 }, '{"code":7}'],
    [Object.assign(new Error('x'), { message: 7 }), '7'],
    [hostile, 'the thrown value cannot be shown'],
  ])('%#', (error, message) => expect(messageOf(error)).toBe(message));

  it('and its stack, if it has one', () => {
    const error = new Error('broken');
    expect(stackOf(error)).toBe(error.stack);
    expect(stackOf(Object.assign(new Error('broken'), { stack: 7 }))).toBe('broken');
    expect(stackOf({ stack: 'no error' })).toBe('{"stack":"no error"}');
    expect(stackOf(hostile)).toBe('the thrown value cannot be shown');
  });

  it('reports the rejection of a promise that is never awaited', async () => {
    const told: unknown[] = [];
    const tell = (error: unknown) => told.push(error);
    onRejection(Promise.reject('late'), tell);
    onRejection('no promise', tell);
    onRejection(Promise.resolve(1), tell);
    await new Promise(setImmediate);
    expect(told).toEqual(['late']);
  });
});

describe('the problems of a definition', () => {
  const fails = (code: 'invalid_tool' | 'invalid_agent', ...problems: string[]) => {
    throw new PawlError(code, problems);
  };

  it('are reported together, under the code of the first', () => {
    const problems = new Problems();
    problems.throwIfAny();
    expect(problems.collect(() => 7)).toBe(7);
    expect(problems.collect(() => fails('invalid_tool', 'one'))).toBeUndefined();
    expect(() => problems.throwIfAny()).toThrow(/^one$/);
    problems.collect(() => fails('invalid_agent', 'two', 'three'));
    expect(() => problems.throwIfAny()).toThrow(
      expect.objectContaining({
        ...{ name: 'PawlError', code: 'invalid_tool', problems: ['one', 'two', 'three'] },
        message: '3 problems:\n- one\n- two\n- three',
      }),
    );
  });

  it('any other error is thrown at once', () => {
    const broken = new TypeError('broken');
    expect(() =>
      new Problems().collect(() => {
        throw broken;
      }),
    ).toThrow(broken);
  });
});
