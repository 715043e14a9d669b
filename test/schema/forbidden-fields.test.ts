import type { JSONSchema7 } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { withoutExtraFields } from '../../src/schema/forbidden-fields.ts';
import type { CompiledSchema } from '../../src/schema/validation.ts';

const closed = (properties: Record<string, JSONSchema7>): JSONSchema7 => ({
  type: 'object',
  properties,
  additionalProperties: false,
});
const any = {};

/** A schema whose check accepts everything, and drops fields. */
const lenient = (jsonSchema: CompiledSchema['jsonSchema']): CompiledSchema => ({
  jsonSchema,
  dropsFields: true,
  validate: (value) => ({ valid: true, value }),
});

/** The paths of the fields that are refused. */
async function refused(schema: JSONSchema7, value: unknown): Promise<string[]> {
  const validation = withoutExtraFields(lenient(schema)).validate(value);
  expect(await withoutExtraFields(lenient(Promise.resolve(schema))).validate(value)).toEqual(validation);
  if ('then' in validation) throw new Error('the check took time');
  if (validation.valid) {
    expect(validation.value).toBe(value);
    return [];
  }
  return validation.reasons.split('; ').map((reason) => {
    expect(reason).toMatch(/ is not a field of the schema$/);
    return reason.replace(' is not a field of the schema', '');
  });
}

const tree: JSONSchema7 = {
  $ref: '#/$defs/node',
  $defs: { node: closed({ next: { $ref: '#/$defs/node' }, list: { type: 'array', items: { $ref: '#/$defs/node' } } }) },
} as JSONSchema7;
const either = {
  anyOf: [closed({ a: any }), closed({ a: any, b: any })],
};

describe('C-5: fields that the sent schema forbids are named, not dropped', () => {
  it.each<[string, JSONSchema7, unknown, string[]]>([
    ['none', closed({ a: any }), { a: 1 }, []],
    ['each, in order', closed({ a: any }), { x: 1, a: 1, y: 2 }, ['x', 'y']],
    ['one inside another', closed({ a: closed({ b: any }) }), { a: { c: 1 }, d: 2 }, ['a.c', 'd']],
    ['one in a list', closed({ a: { items: closed({}) } }), { a: [{}, { c: 1 }] }, ['a.1.c']],
    ['one in a list at the top', { items: closed({}) }, [{}, { c: 1 }], ['1.c']],
    ['a name of every object', closed({}), { constructor: 1, toString: 2 }, ['constructor', 'toString']],
    ['no field where additional fields are allowed', { properties: { a: any } }, { b: 1 }, []],
    ['one in what others must be', { additionalProperties: closed({}) }, { b: { c: 1 } }, ['b.c']],
    ['none where names have patterns', { ...closed({}), patternProperties: { '^x': any } }, { y: 1 }, []],
    ['those of a tuple', { items: [closed({}), {}] }, [{ c: 1 }, { d: 1 }, { e: 1 }], ['0.c']],
    ['those after a tuple', { items: [{}], additionalItems: closed({}) }, [{ c: 1 }, { d: 1 }], ['1.d']],
    [
      'those of a tuple of 2020-12, and after it',
      { prefixItems: [closed({}), {}], items: closed({}) } as never,
      [{ c: 1 }, { d: 1 }, { e: 1 }],
      ['0.c', '2.e'],
    ],
    ['none in a list without a schema', { type: 'array' }, [{ c: 1 }], []],
    ['none where a schema is true', closed({ a: true as never }), { a: { b: 1 } }, []],
    ['none in texts, numbers and null', closed({ a: closed({}) }), { a: null }, []],
    [
      'those through references',
      tree,
      { next: { next: { x: 1 }, list: [{ y: 1 }] } },
      ['next.next.x', 'next.list.0.y'],
    ],
    [
      'those of a definition whose name has a slash and a tilde',
      { $ref: '#/$defs/a~1b~0c', $defs: { 'a/b~c': closed({}) } } as JSONSchema7,
      { x: 1 },
      ['x'],
    ],
    ['none behind a reference to what every object has', { $ref: '#/constructor/prototype' }, { x: 1 }, []],
    ['none behind an anchor', closed({ a: { $ref: '#here' } }), { a: { x: 1 } }, []],
    ['none behind a reference to nowhere', { $ref: '#/$defs/none' }, { x: 1 }, []],
    ['none behind a reference through a text', { $ref: '#/title/length', title: 'text' }, { x: 1 }, []],
    ['none behind a reference to a text', { $ref: '#/title', title: 'text' }, { x: 1 }, []],
    ['those of the schema that forbids least', either, { a: 1, b: 1, c: 1 }, ['c']],
    ['none if one of the schemas allows all', either, { a: 1, b: 1 }, []],
    ['those of oneOf', { oneOf: [closed({}), closed({ a: any })] }, { a: 1, b: 1 }, ['b']],
    ['none if no schema is of the kind', { anyOf: [{ type: 'string' }, { type: 'array' }] }, { a: 1 }, []],
    ['those of the kind', { anyOf: [{ type: 'array' }, closed({})] }, { a: 1 }, ['a']],
    ['those of a list of kinds', { anyOf: [{ ...closed({}), type: ['object', 'null'] }] }, { a: 1 }, ['a']],
    ['those of lists', { anyOf: [closed({}), { type: 'array', items: closed({}) }] }, [{ a: 1 }], ['0.a']],
    ['none beside true', { anyOf: [closed({}), true] }, { a: 1 }, []],
    ['those of a schema without a type', { anyOf: [{ properties: {}, additionalProperties: false }] }, { a: 1 }, ['a']],
  ])('%s', async (_, schema, value, paths) => expect(await refused(schema, value)).toEqual(paths));

  it('of a value in itself, once', () => {
    const loop: Record<string, unknown> = { x: 1 };
    loop.next = loop;
    const { validate } = withoutExtraFields(lenient(tree));
    expect(validate(loop)).toMatchObject({ valid: false, reasons: 'x is not a field of the schema' });
  });

  it('of unions within unions in time that grows with the value, not with the ways to it', () => {
    const deep = (depth: number): unknown => (depth === 0 ? { x: 1 } : { a: deep(depth - 1) });
    const node = closed({ a: { $ref: '#/$defs/node' } });
    let looks = 0;
    const counted = new Proxy(node, {
      get: (of, name) => {
        if (name === 'additionalProperties') looks += 1;
        return Reflect.get(of, name);
      },
    });
    const union = { anyOf: [counted, { ...node }] };
    const schema = { $ref: '#/$defs/node', $defs: { node: union } } as JSONSchema7;
    const { validate } = withoutExtraFields(lenient(schema));
    expect(validate(deep(25))).toMatchObject({ valid: false });
    expect(looks).toBeLessThan(200);
  });

  it('a check that drops nothing is left alone', () => {
    const strict = { jsonSchema: closed({}), validate: (value: unknown) => ({ valid: true, value }) as const };
    expect(withoutExtraFields(strict)).toBe(strict);
  });
});
