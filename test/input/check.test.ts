import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { PawlError } from '../../src/index.ts';
import { check } from '../../src/input/check.ts';

const inner = z.strictObject({ maxTurns: z.number().optional(), maxRetries: z.number().optional() });
const schema = z.strictObject({
  limits: inner.optional(),
  nullable: inner.nullable().optional(),
  preset: inner.default({}).optional(),
  names: z.array(z.string()).optional(),
  servers: z.record(z.string(), inner).optional(),
  mode: z.enum(['fast', 'slow']).optional(),
  size: z.number({ error: 'a size' }).optional(),
  list: z.array(inner).optional(),
  kind: z.enum(['a'], { error: 'a kind' }).optional(),
});

/** Returns the problems of a value, by the code that was asked for. */
function problemsOf(value: unknown, field = ''): readonly string[] {
  try {
    check(schema, value, field, 'invalid_limit');
  } catch (error) {
    if (error instanceof PawlError && error.code === 'invalid_limit') return error.problems;
    throw error;
  }
  return [];
}

describe('bad input gets a sentence for each problem', () => {
  it('valid input is returned as parsed', () => {
    expect(check(schema, { preset: undefined, size: 1 }, '', 'invalid_options')).toEqual({ preset: {}, size: 1 });
  });

  it('each names the field, what it must be and what it was', () => {
    expect(problemsOf({ size: 'big', names: ['a', 7], mode: 'idle' }, 'options')).toEqual([
      '`options.names[1]` must be a string; got 7.',
      '`options.mode` must be one of "fast", "slow"; got "idle".',
      '`options.size` must be a size; got "big".',
    ]);
    expect(problemsOf({ kind: 'b' })).toEqual(['`kind` must be a kind; got "b".']);
    expect(problemsOf({ limits: { maxTurns: 'x' } })).toEqual(['`limits.maxTurns` must be a number; got "x".']);
    expect(problemsOf(7)).toEqual(['`value` must be an object; got 7.']);
    expect(problemsOf(undefined, 'options')).toEqual(['`options` is required: an object.']);
  });

  it('a whole number that is too large is told how large it may be', () => {
    const definition = { name: 'a', models: ['x:y'], limits: { maxTurns: 2 ** 60 } };
    expect(() => defineAgent(definition)).toThrow(
      '`limits.maxTurns` must be an integer from 1 to 9007199254740991; got 1152921504606847000.',
    );
  });

  it('an unknown option comes with the likely one and all that there are, at any depth', () => {
    const known = 'Options: maxTurns, maxRetries.';
    expect(problemsOf({ limits: { maxTurn: 1 } }, 'options')).toEqual([
      `Unknown option \`options.limits.maxTurn\`. Did you mean \`maxTurns\`? ${known}`,
    ]);
    expect(problemsOf({ limits: { MAXRETRIE: 1 } })).toEqual([
      `Unknown option \`limits.MAXRETRIE\`. Did you mean \`maxRetries\`? ${known}`,
    ]);
    expect(problemsOf({ nullable: { other: 1 } })).toEqual([`Unknown option \`nullable.other\`. ${known}`]);
    expect(problemsOf({ preset: { m: 1 } })).toEqual([`Unknown option \`preset.m\`. ${known}`]);
    expect(problemsOf({ servers: { one: { maxTurms: 1 } } })).toEqual([
      `Unknown option \`servers.one.maxTurms\`. Did you mean \`maxTurns\`? ${known}`,
    ]);
    expect(problemsOf({ list: [{}, { maxTurm: 1 }] })).toEqual([
      `Unknown option \`list[1].maxTurm\`. Did you mean \`maxTurns\`? ${known}`,
    ]);
    expect(problemsOf({ mod: 'fast', sizes: 1 })).toEqual([
      'Unknown option `mod`. Did you mean `mode`? Options: limits, nullable, preset, names, servers, mode, size, list, kind.',
      'Unknown option `sizes`. Did you mean `size`? Options: limits, nullable, preset, names, servers, mode, size, list, kind.',
    ]);
  });

  it('where it is not known what there is, an unknown option is named alone', () => {
    const tuple = z.strictObject({ pair: z.tuple([inner]) });
    expect(() => check(tuple, { pair: [{ maxTurm: 1 }] }, '', 'invalid_options')).toThrow(
      /^Unknown option `pair\[0\]\.maxTurm`\.$/,
    );
  });

  it('of several likely ones, the likeliest is named', () => {
    const many = z.strictObject({ maxTurn: z.number().optional(), maxTurns: z.number().optional() });
    expect(() => check(many, { maxTurnss: 1 }, '', 'invalid_options')).toThrow('Did you mean `maxTurns`?');
    expect(() => check(many, { axTurn: 1 }, '', 'invalid_options')).toThrow('Did you mean `maxTurn`?');
  });
});
