import { describe, expect, it } from 'vitest';
import { inspected } from '../../src/model/reply/inspected-calls.ts';
import { call, read } from '../support/read-parts.ts';

const never = new AbortController().signal;

/** Inspects the calls of a reply by a catalog that tells what it is asked. `inside` are the calls inside a batch. */
async function inspect(parts: unknown[], inside: Record<string, string[]> = {}) {
  const asked: unknown[] = [];
  const catalog = {
    inspect: (one: { callId: string; name: string }, within: number | null, signal: AbortSignal) => {
      asked.push([one.callId, within, signal === never]);
      return Promise.resolve({ callId: one.callId, name: one.name, within, own: true });
    },
    inside: ({ callId }: { callId: string }, input: string) =>
      (inside[callId] ?? []).map((id) => ({ callId: `${callId}/${id}`, name: 'inner', input })),
    together: (facts: object[]) => facts.map((one) => ({ ...one, together: true })),
  };
  const facts = await inspected(read(...parts).reply, Object(catalog), never);
  return { asked, facts: facts as unknown as Record<string, unknown>[] };
}

describe('C-1: the calls of a reply', () => {
  it('are inspected in order, then the calls inside their batches', async () => {
    const { asked, facts } = await inspect([call('a'), call('b'), call('c')], { b: ['1', '2'], c: ['3'] });
    expect(asked).toEqual([
      ['a', null, true],
      ['b', null, true],
      ['c', null, true],
      ['b/1', 1, true],
      ['b/2', 1, true],
      ['c/3', 2, true],
    ]);
    expect(facts.map(({ callId }) => callId)).toEqual(['a', 'b', 'c', 'b/1', 'b/2', 'c/3']);
    expect(facts.every(({ together, own }) => together === true && own === true)).toBe(true);
  });

  it('provider-executed calls have their results instead', async () => {
    const executed = { providerExecuted: true };
    const result = (toolCallId: string, isError: boolean) => ({
      type: 'tool-result',
      toolCallId,
      toolName: 'look',
      result: 1,
      isError,
    });
    const { asked, facts } = await inspect([
      call('good', '{}', executed),
      call('bad', '{}', executed),
      call('none', '{}', executed),
      result('good', false),
      result('bad', true),
    ]);
    expect(asked).toEqual([]);
    expect(facts).toMatchObject([
      { callId: 'good', name: 'look', tool: 'provider', provided: 'success', wholeInput: true },
      { callId: 'bad', name: 'look', tool: 'provider', provided: 'failure', wholeInput: true },
      { callId: 'none', name: 'look', tool: 'provider', provided: null, wholeInput: true },
    ]);
  });

  it('beyond a thousand are refused uninspected, including those inside batches', async () => {
    const refused = {
      tool: 'real',
      wholeInput: true,
      refusal: {
        slug: 'tool_limit',
        reason: 'A reply may hold at most 1000 calls; this one is beyond them.',
      },
    };
    const calls = Array.from({ length: 999 }, (_, at) => call(`c${at}`));
    const { asked, facts } = await inspect(calls, { c7: ['first', 'second'] });
    expect(asked).toHaveLength(1_000);
    expect(facts.at(-2)).toMatchObject({ callId: 'c7/first', own: true });
    expect(facts.at(-1)).toMatchObject({ callId: 'c7/second', name: 'inner', within: 7, ...refused });
    const more = await inspect([...calls, call('last'), call('over')]);
    expect(more.asked).toHaveLength(1_000);
    expect(more.facts.at(-2)).toMatchObject({ callId: 'last', own: true });
    expect(more.facts.at(-1)).toMatchObject({ callId: 'over', name: 'look', ...refused });
  });
});
