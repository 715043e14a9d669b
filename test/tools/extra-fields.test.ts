import { jsonSchema, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callsIn, counters, report, runOverWire, tokensOf } from '../support/session.ts';

const shape = {
  q: z.string(),
  inner: z.object({ a: z.number() }).optional(),
  list: z.array(z.object({ k: z.string() })),
};
const given = { q: 'x', list: [] };
const json = jsonSchema({
  type: 'object',
  properties: { q: { type: 'string' }, list: { type: 'array' } },
  required: ['q'],
  additionalProperties: false,
});

const schemas = {
  zod: z.object(shape),
  json,
  loose: z.looseObject(shape),
  record: z.object({ q: z.string(), list: z.array(z.unknown()), of: z.record(z.string(), z.number()).optional() }),
  union: z.object({
    q: z.union([z.string(), z.object({ a: z.string() }), z.object({ b: z.string() })]),
    list: z.array(z.unknown()),
  }),
  patterns: z.object({ ...shape, of: z.record(z.templateLiteral(['x-', z.string()]), z.number()).optional() }),
  transformed: z.object(shape).transform(({ q }) => ({ q })),
};

describe('C-5: fields that the sent schema forbids', () => {
  it.each<[keyof typeof schemas, object, string | null]>([
    ['zod', { ...given, limit: 5 }, 'limit is not a field of the schema'],
    ['json', { ...given, limit: 5 }, 'it must NOT have additional properties'],
    ['zod', { ...given, inner: { a: 1, b: 2 } }, 'inner.b is not a field of the schema'],
    ['zod', { ...given, list: [{ k: 'x' }, { k: 'y', l: 1 }] }, 'list.1.l is not a field of the schema'],
    ['zod', { ...given, constructor: 1 }, 'constructor is not a field of the schema'],
    ['transformed', { ...given, limit: 5 }, 'limit is not a field of the schema'],
    ['union', { ...given, q: { b: 'x' } }, null],
    ['union', { ...given, q: { c: 'x' } }, 'q.c is not a field of the schema'],
    ['patterns', { ...given, of: { 'x-any': 1 } }, null],
    ['loose', { ...given, limit: 5 }, null],
    ['record', { ...given, of: { any: 1 } }, null],
    ['zod', given, null],
  ])('%s: %j', async (name, input, reason) => {
    const one = tool({ description: 'One.', inputSchema: schemas[name] as z.ZodType, execute: () => 'done' });
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'one', input }] }, report()],
      definition: { tools: { one } },
    });
    const [call] = callsIn(result);
    if (reason === null) expect(call).toMatchObject({ executed: true, slug: null });
    else {
      expect(call).toMatchObject({ executed: false, slug: 'invalid_tool_input' });
      expect(call?.result.message).toContain(reason);
    }
    const refused = reason === null ? {} : { rejected: { invalid_tool_input: 1 } };
    const failed = reason === null ? {} : { failedAttempts: 1, notices: 1, slugs: { invalid_tool_input: 1 } };
    expect(result.counters).toEqual(
      counters({
        turns: reason === null ? 2 : 1,
        attempts: 2,
        ...failed,
        toolCalls: {
          requested: 2,
          answered: 2,
          acknowledged: 1,
          ...(reason === null && { executed: 1, succeeded: 1 }),
          ...refused,
        },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
      }),
    );
  });

  it('a union of types that hold themselves is searched once for each value, not once for each way to it', async () => {
    type Tree = { left?: Tree | undefined; right?: Tree | undefined };
    const tree: z.ZodType<Tree> = z.lazy(() => z.union([node('a'), node('b'), node('c')]));
    const node = (name: string) =>
      z.object({ left: tree.optional(), right: tree.optional(), [name]: z.string().optional() });
    let input: object = {};
    for (let level = 0; level < 24; level += 1) input = { left: input };
    const grow = tool({ description: 'Grows.', inputSchema: z.object({ tree }), execute: () => 'grown' });
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'grow', input: { tree: input } }] }, report()],
      definition: { tools: { grow } },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, output: { value: 'grown' } });
  });
});
