import type { JSONSchema7 } from '@ai-sdk/provider';
import { jsonSchema } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkAtOnce, compileSchema } from '../../src/schema/schema.ts';

/** A schema of another library, which says what it accepts. */
const standard = (validate: (value: unknown) => unknown) =>
  ({
    '~standard': { version: 1, vendor: 'other', validate, jsonSchema: { input: () => ({ type: 'object' }) } },
  }) as never;

const issue = (message: string, path?: unknown[]) => ({ issues: [{ message, ...(path && { path }) }] });

describe('schemas of every kind are checked alike', () => {
  it.each([
    ['zod', z.object({ a: z.number() })],
    ['a JSON Schema', { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] } satisfies JSONSchema7],
    ['an AI SDK schema', jsonSchema({ type: 'object', properties: { a: { type: 'number' } }, required: ['a'] })],
    [
      'an AI SDK schema with a check of its own',
      jsonSchema(
        { type: 'object' },
        {
          validate: (value: unknown) =>
            typeof (value as { a: unknown }).a === 'number'
              ? { success: true, value }
              : { success: false, error: new Error('a must be a number') },
        },
      ),
    ],
    [
      'a Standard Schema',
      standard((value) => (typeof (value as { a: unknown }).a === 'number' ? { value } : issue('no number', ['a']))),
    ],
    [
      'a Standard Schema that gives the value along with its issues, as Valibot does',
      standard((value) => ({
        ...(typeof (value as { a: unknown }).a !== 'number' && issue('no number', ['a'])),
        ...{ value, typed: true },
      })),
    ],
  ])('%s', async (_, schema) => {
    const compiled = compileSchema(schema, 'schema');
    expect(await compiled.jsonSchema).toMatchObject({ type: 'object' });
    expect(await compiled.validate({ a: 1 })).toEqual({ valid: true, value: { a: 1 } });
    expect(await compiled.validate({ a: 'x' })).toMatchObject({ valid: false, reasons: expect.stringContaining('a') });
    const check = checkAtOnce(schema, 'schema');
    expect(check({ a: 1 })).toMatchObject({ valid: true, value: { a: 1 } });
    expect(check({ a: 'x' })).toMatchObject({ valid: false });
  });

  it('one that takes its time, and gives the value along with its issues', async () => {
    const slow = standard(async (value) => ({ ...(value === 1 ? {} : issue('not one')), value }));
    expect(await compileSchema(slow, 'schema').validate(1)).toEqual({ valid: true, value: 1 });
    expect(await compileSchema(slow, 'schema').validate(2)).toMatchObject({ valid: false, reasons: 'not one' });
  });

  it('what a check makes of a value counts', async () => {
    const schema = z.object({ a: z.coerce.number(), b: z.string().default('there') });
    const value = { a: 1, b: 'there' };
    expect(await compileSchema(schema, 'schema').validate({ a: '1' })).toEqual({ valid: true, value });
    expect(checkAtOnce(schema, 'schema')({ a: '1' })).toEqual({ valid: true, value });
    expect(compileSchema(schema, 'schema').dropsFields).toBe(true);
    expect(compileSchema({ type: 'object' }, 'schema').dropsFields).toBeUndefined();
  });

  it.each([
    ['a path', issue('too short', ['list', 1, { key: 'name' }]), 'list.1.name: too short'],
    ['no path', issue('too short'), 'too short'],
    ['an empty path', issue('too short', []), 'too short'],
    ['a path that is no list', { issues: [{ message: 'too short', path: 'list' }] }, 'too short'],
    ['no message', { issues: [{ path: ['a'] }] }, 'a: is invalid'],
    ['a text as an issue', { issues: ['bad'] }, 'bad'],
    ['null as an issue', { issues: [null] }, 'null'],
    ['a path with null', { issues: [{ message: 'bad', path: [null, 'a'] }] }, 'null.a: bad'],
    ['several issues', { issues: [{ message: 'one' }, { message: 'two' }] }, 'one; two'],
  ])('the reasons of one with %s', (_, result, reasons) => {
    expect(
      checkAtOnce(
        standard(() => result),
        'schema',
      )({}),
    ).toMatchObject({ valid: false, reasons });
  });

  it.each([
    ['with issues', Object.assign(new Error('many'), issue('too short', ['a'])), 'a: too short'],
    ['whose cause has issues', new Error('outer', { cause: issue('too short', ['a']) }), 'a: too short'],
    [
      'whose cause is a list of issues',
      new Error('outer', { cause: issue('too short', ['a']).issues }),
      'a: too short',
    ],
    ['whose cause has other issues', new Error('outer', { cause: { issues: 'several' } }), 'outer'],
    ['without issues', new Error('not this', { cause: 'none' }), 'not this'],
    ['without a cause', new Error('not this', { cause: null }), 'not this'],
  ])('the reasons of an error %s', async (_, error, reasons) => {
    const { validate } = compileSchema(jsonSchema({}, { validate: () => ({ success: false, error }) }), 'schema');
    expect(await validate({})).toMatchObject({ valid: false, reasons });
  });

  it('one that takes time is waited for, and refused where it must check at once', async () => {
    const slow = jsonSchema({}, { validate: async (value) => ({ success: true, value }) });
    expect(await compileSchema(slow, 'schema').validate(1)).toEqual({ valid: true, value: 1 });
    for (const late of [slow, standard(async (value) => ({ value })), standard(() => Promise.reject(new Error('no')))])
      expect(() => checkAtOnce(late, 'schema')(1)).toThrow(
        'its schema is asynchronous or throws; it must check at once',
      );
    const promised = compileSchema(jsonSchema(Promise.resolve({ type: 'object' as const })), 'schema');
    expect(await promised.jsonSchema).toEqual({ type: 'object' });
    expect(await promised.validate(1)).toMatchObject({ valid: false, reasons: 'it must be object' });
    expect(await promised.validate({})).toEqual({ valid: true, value: {} });
  });

  it('the keyword `then` does not make it one that takes time', () => {
    const schema = JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]}}');
    for (const one of [schema, jsonSchema(schema)]) {
      const check = checkAtOnce(one, 'schema');
      expect(check({ a: 1 })).toMatchObject({
        valid: false,
        reasons: expect.stringContaining("must have required property 'b'"),
      });
      expect(check({})).toEqual({ valid: true, value: {} });
    }
  });
});

describe('what is no schema is refused, with the reason', () => {
  it.each([
    ['nothing', null, /^`options\.schema` must be a zod schema, .+; got null\. It is not an object\.$/],
    ['what is missing', undefined, /^`options\.schema` is required: a zod schema, [^.]+\.$/],
    ['a list', [], /It is not an object\.$/],
    ['a text', 'object', /got "object"\. It is not an object\.$/],
    ['the fields of a zod schema', { a: z.string() }, /Wrap its fields in z\.object\(\)\.$/],
    ['an invalid JSON Schema', { type: 'thing' }, /^`options\.schema` must be/],
  ])('%s', (_, schema, message) => {
    expect(() => compileSchema(schema as never, 'options.schema')).toThrow(
      expect.objectContaining({
        code: 'invalid_schema',
        message: expect.stringMatching(message),
        cause: expect.any(Error),
      }),
    );
  });
});
