import { describe, expect, it } from 'vitest';
import { compileForeign } from '../../src/schema/foreign-schema.ts';
import { acceptedByAjv, isDraft2020, regExpOf } from '../../src/schema/json-schema-check.ts';
import { compileOwn } from '../../src/schema/own-schema.ts';
import { type CompiledSchema, reasonsText } from '../../src/schema/validation.ts';

/** The reasons why a schema refuses a value; null if it accepts it. */
function reasonsOf({ validate }: CompiledSchema, value: unknown): string | null {
  const validation = validate(value);
  if ('then' in validation) throw new Error('the check took time');
  if (!validation.valid) return validation.reasons;
  expect(validation.value).toBe(value);
  return null;
}

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more }) as never;
const draft = (name: string) => ({ $schema: `https://json-schema.org/${name}/schema` });

describe('C-5, F-1: a field that every object inherits', () => {
  const schema = (required: string[]) =>
    object({ season: { type: 'string' }, constructor: { type: 'string' }, toString: { type: 'string' } }, { required });

  it.each([
    ['a user’s own schema', compileOwn],
    ['the schema of a server', compileForeign],
  ])('is missing where it was not given: %s', (_, compile) => {
    expect(reasonsOf(compile(schema(['season'])), { season: '2024' })).toBeNull();
    expect(reasonsOf(compile(schema(['constructor'])), { constructor: 'ferrari', toString: 'x' })).toBeNull();
    expect(reasonsOf(compile(schema(['constructor'])), { season: '2024' })).toContain("'constructor'");
    expect(reasonsOf(compile(schema(['season'])), { season: '2024', toString: 1 })).toContain('must be string');
  });
});

describe('C-5: the reasons why a value is refused', () => {
  const schema = object({ list: { items: object({ size: { type: 'number' } }) } }, { required: ['name'] });

  it('name the path and what is wrong, all of them for the own schema of a user', () => {
    expect(reasonsOf(compileOwn(schema), { list: [{}, { size: 'big' }] })).toBe(
      "it must have required property 'name'; list.1.size must be number",
    );
    expect(reasonsOf(compileForeign(schema), { name: 1, list: [{}, { size: 'big' }] })).toBe(
      'list.1.size must be number',
    );
    expect(reasonsOf(compileOwn(schema), { name: 1 })).toBeNull();
  });

  it('are cut at 2,000 characters', () => {
    expect(reasonsText(['one', 'two'])).toBe('one; two');
    expect(reasonsText(['x'.repeat(2_000)])).toBe('x'.repeat(2_000));
    expect(reasonsText(['x'.repeat(1_999), 'y'])).toBe(`${'x'.repeat(1_999)};…`);
  });

  it('an asynchronous schema is no schema', () => {
    expect(() => compileOwn({ $async: true } as never)).toThrow('asynchronous schemas ($async) are not supported');
    expect(() => compileOwn({ type: 'thing' } as never)).toThrow();
  });
});

describe('the draft of a schema', () => {
  it.each<[object, boolean]>([
    [{}, false],
    [draft('draft/2020-12'), true],
    [draft('draft/2019-09'), false],
    [{ ...draft('draft-07'), prefixItems: [] }, false],
    [{ ...draft('draft-03'), prefixItems: [] }, false],
    [{ ...draft('draft-02'), prefixItems: [] }, true],
    [{ $schema: 7 }, false],
    [{ prefixItems: [] }, true],
    [{ unevaluatedItems: false }, true],
    [{ unevaluatedProperties: false }, true],
    [{ dependentSchemas: {} }, true],
    [{ dependentRequired: {} }, true],
    [{ $dynamicRef: '#' }, true],
    [{ properties: { a: { prefixItems: [] } } }, true],
    [{ properties: { prefixItems: {} } }, false],
    [{ enum: [{ prefixItems: [] }] }, false],
    [{ prefixItems: [], not: { items: [{}] } }, false],
    [{ prefixItems: [], items: {} }, true],
    ...['patternProperties', '$defs', 'definitions', 'dependentSchemas'].map((name): [object, boolean] => [
      { [name]: { a: { $dynamicRef: '#' } } },
      true,
    ]),
    ...['allOf', 'anyOf', 'oneOf'].map((name): [object, boolean] => [{ [name]: [true, { prefixItems: [] }] }, true]),
    ...[
      'additionalItems',
      'additionalProperties',
      'contains',
      'else',
      'if',
      'items',
      'not',
      'propertyNames',
      'then',
    ].map((name): [object, boolean] => [{ [name]: { prefixItems: [] } }, true]),
    [{ items: [{ prefixItems: [] }] }, false],
    [{ prefixItems: [{ items: [{}] }] }, false],
    [{ allOf: { prefixItems: [] } }, false],
    [{ properties: [{ prefixItems: [] }] }, false],
  ])('%j is 2020-12: %s', (schema, expected) => expect(isDraft2020(schema)).toBe(expected));

  it('decides what its keywords mean', () => {
    const pair = object({ pair: { prefixItems: [{ type: 'number' }], items: { type: 'string' } } });
    for (const compile of [compileOwn, compileForeign]) {
      expect(reasonsOf(compile(pair), { pair: [1, 'a'] })).toBeNull();
      expect(reasonsOf(compile(pair), { pair: ['a', 'b'] })).toBe('pair.0 must be number');
      const old = object({ pair: { items: [{ type: 'number' }], additionalItems: { type: 'string' } } });
      expect(reasonsOf(compile(old), { pair: [1, 2] })).toBe('pair.1 must be string');
    }
  });
});

describe('what ajv refuses is left out', () => {
  it('a draft of any name, and `nullable` without a type', () => {
    expect(acceptedByAjv({ ...draft('draft-99'), type: 'object', properties: { $schema: {} } })).toEqual({
      type: 'object',
      properties: { $schema: {} },
    });
    const { validate } = compileOwn({
      ...draft('draft-99'),
      properties: { a: { nullable: true, enum: [1] } },
    } as never);
    expect(validate({ a: 1 })).toMatchObject({ valid: true });
    expect(
      acceptedByAjv({
        nullable: true,
        anyOf: [
          { nullable: false, const: 1 },
          { nullable: true, type: 'string' },
        ],
        properties: { nullable: { type: 'boolean' }, one: { nullable: { type: 'string' } } },
        default: { nullable: true },
      }),
    ).toEqual({
      anyOf: [{ const: 1 }, { nullable: true, type: 'string' }],
      properties: { nullable: { type: 'boolean' }, one: { nullable: { type: 'string' } } },
      default: { nullable: true },
    });
    expect(acceptedByAjv({ not: [1], items: null, properties: { a: true, b: 7 } })).toEqual({
      not: [1],
      items: null,
      properties: { a: true, b: 7 },
    });
  });

  it('formats and unknown keywords say nothing', () => {
    const schema = object({ at: { type: 'string', format: 'date-time', 'x-own': 1 } });
    for (const compile of [compileOwn, compileForeign]) expect(reasonsOf(compile(schema), { at: 'soon' })).toBeNull();
  });
});

describe('patterns', () => {
  it.each<[string, string, boolean]>([
    ['^(a)\\1$', 'aa', true],
    ['^(a)\\1$', 'ab', false],
    ['^(?<x>a)\\k<x>$', 'aa', true],
    ['^(?<x>a)\\k<x>$', 'ab', false],
    ['^\\\\1$', '\\1', true],
    ['^\\\\\\\\1$', '\\\\1', true],
    ['^\\p{L}+$', 'é', true],
    ['^\\p{L}+$', '7', false],
    ['^(?=a)', 'ab', true],
    ['^(?=a)', 'ba', false],
    ['b', 'abc', true],
    ['^\\-$', '-', true],
    ['^.$', '😀', true],
  ])('%s and %j: %s', (pattern, text, expected) => {
    const schema = object({ text: { type: 'string', pattern } });
    for (const compile of [compileOwn, compileForeign])
      expect(reasonsOf(compile(schema), { text })).toBe(expected ? null : `text must match pattern "${pattern}"`);
  });

  it('have the Unicode flag, unless they are invalid with it', () => {
    expect([regExpOf('a').flags, regExpOf('\\-').flags]).toEqual(['u', '']);
    expect(() => regExpOf('(')).toThrow(SyntaxError);
  });
});

describe('C-5: a schema that others wrote', () => {
  const nested = (levels: number): object => (levels === 0 ? {} : { not: nested(levels - 1) });
  const referring = (count: number) => ({ anyOf: Array.from({ length: count }, () => ({ $ref: '#' })) });
  const large = (bytes: number) => ({ description: 'x'.repeat(bytes - '{"description":""}'.length) });

  it('may be as large as its limits', () => {
    for (const schema of [nested(99), referring(1_000), large(65_536)]) compileForeign(schema);
    expect(() => compileForeign(nested(100))).toThrow('it is more than 100 levels deep');
    expect(() => compileForeign(referring(1_001))).toThrow('it has more than 1000 references');
    expect(() => compileForeign(large(65_537))).toThrow('it has 65537 bytes; the most is 65536');
  });

  it.each<[string, object]>([
    ['to a definition', { $defs: { a: {} }, $ref: '#/$defs/a' }],
    ['to one with a slash and a tilde in its name', { $defs: { 'a/b~c': {} }, $ref: '#/$defs/a~1b~0c' }],
    ['to one with a space in its name', { $defs: { 'a b': {} }, $ref: '#/$defs/a%20b' }],
    ['to itself', { properties: { a: { $ref: '#' } } }],
    ['to an item of a list', { anyOf: [{}], not: { $ref: '#/anyOf/0' } }],
    ['in data', { default: { $ref: '#/nowhere' }, examples: [{ a: { $ref: '#/nowhere' } }] }],
    ['below an $id', { $defs: { a: { $id: 'x:y', $defs: { b: {} }, $ref: '#/$defs/b' } } }],
  ])('a reference %s leads somewhere', (_, schema) => {
    expect(() => compileForeign(schema)).not.toThrow();
  });

  it.each<[string, object, string]>([
    ['to nowhere', { $ref: '#/$defs/a' }, '"#/$defs/a"'],
    ['through a text', { title: 'a', $ref: '#/title/a/b' }, '"#/title/a/b"'],
    ['below another', { $defs: {}, properties: { a: { $ref: '#/$defs/a/b' } } }, '"#/$defs/a/b"'],
  ])('a reference %s is refused', (_, schema, ref) => {
    expect(() => compileForeign(schema)).toThrow(`it refers to ${ref}, which is not in it`);
  });

  it('is compiled once, when a value is first checked', () => {
    const compiled = compileForeign(object({ a: { $ref: 'https://a.test/schema' } }));
    expect(() => compiled.validate({})).toThrow("can't resolve reference");
    const good = compileForeign(object({ a: { type: 'number' } }));
    expect([reasonsOf(good, { a: 1 }), reasonsOf(good, { a: 'x' }), reasonsOf(good, { a: 2 })]).toEqual([
      null,
      'a must be number',
      null,
    ]);
  });
});
