import fc from 'fast-check';
import { z } from 'zod';
import { check } from '../input/check.ts';
import type { RehearsedReply } from './rehearsal-model.ts';

const inputs = z.array(z.unknown(), { error: 'an array of inputs' });
const toolsSchema = z.record(z.string(), inputs, { error: 'an object of arrays of inputs' });

/**
 * Generates replies that a model may send, including malformed ones, for `fc.assert` over your agent. `tools` maps the
 * names of its tools to inputs to try. Throws `invalid_options`.
 */
export function arbitraryReply(tools: Record<string, readonly unknown[]> = {}): fc.Arbitrary<RehearsedReply> {
  check<unknown>(toolsSchema, tools, 'tools', 'invalid_options');
  const known = Object.entries(tools).flatMap(([name, given]) => given.map((input) => ({ name, input })));
  const call = fc.oneof(...(known.length === 0 ? [] : [{ weight: 3, arbitrary: fc.constantFrom(...known) }]), {
    weight: 1,
    arbitrary: fc.record({
      name: fc.constantFrom(...Object.keys(tools), 'final_report', 'no_such_tool', ''),
      input: fc.constantFrom<unknown>({}, '', '{', '[]', 'null', { content: 'a report' }, { content: '' }),
    }),
  });
  return fc.record(
    {
      text: fc.constantFrom('', 'some text', '   '),
      reasoning: fc.constantFrom('', 'because'),
      calls: fc.array(call, { maxLength: 4 }),
      finishReason: fc.constantFrom('stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'),
    },
    { requiredKeys: [] },
  );
}

/** Generates failures of a provider or its connection. */
export function arbitraryFault(): fc.Arbitrary<RehearsedReply> {
  const status = (code: number) => Object.assign(new Error(`status ${code}`), { statusCode: code });
  const thrown = fc.constantFrom(
    ...[400, 401, 402, 408, 429, 500, 503, 529].map(status),
    new TypeError('fetch failed'),
  );
  return fc.oneof(
    thrown.map((throws) => ({ throws })),
    fc.constant({ text: 'cut off', cut: true }),
    fc.constantFrom({ type: 'overloaded_error', message: 'busy' }, new Error('reset')).map((breaks) => ({ breaks })),
  );
}
