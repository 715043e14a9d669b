import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/testing/index.ts';
import { type ClientToolOptions, clientOutcome, handOut, unanswered } from '../../src/tools/client-tool.ts';
import { estimateOutputTokens } from '../../src/vocabulary/tokens.ts';

const call = { turn: 1, attempt: 2, index: 3, callId: 'c', name: 'ask' };

function options(more: Partial<ClientToolOptions> = {}) {
  const seen: unknown[] = [];
  const made: ClientToolOptions = {
    clock: manualClock(),
    clientToolTimeoutMs: null,
    sight: (sighting) => void seen.push(sighting),
    conversation: { inputOf: (index) => ({ index }) },
    resultBytes: 1_000,
    keptBytes: 100_000,
    secrets: [],
    isReadable: false,
    ...more,
  } as ClientToolOptions;
  return { made, seen };
}

describe('C-1: a call that is answered from outside', () => {
  it('it is announced with its input, and fails if no answer comes in time', async () => {
    const clock = manualClock();
    const { made, seen } = options({ clock, clientToolTimeoutMs: 50 });
    const { signal } = new AbortController();
    const waiting = handOut(made, call, { signal, since: clock.now() } as never);
    await Promise.resolve();
    expect(seen).toEqual([{ type: 'tool.handedOut', callId: 'c', name: 'ask', input: { index: 3 } }]);
    clock.advance(50);
    expect(await waiting).toEqual(unanswered('ask', 50));
    const output = { type: 'error-text', value: 'ask was not answered within 50 ms.' } as const;
    expect(unanswered('ask', 50)).toMatchObject({
      slug: 'tool_timeout',
      result: { success: false, message: output.value },
      output,
      kept: null,
      tokens: estimateOutputTokens(output),
    });
  });

  it('its answer is a result, or a failure with its text', () => {
    const { made } = options();
    expect(clientOutcome(made, call, { output: { a: 1 }, isError: false })).toMatchObject({
      slug: null,
      result: { success: true },
      output: { type: 'text', value: '{"a":1}' },
    });
    for (const [output, value] of [
      ['no network', 'no network'],
      [{ code: 5 }, '{"code":5}'],
      [undefined, 'it failed'],
    ])
      expect(clientOutcome(made, call, { output, isError: true })).toMatchObject({
        slug: 'tool_exec_failed',
        result: { success: false },
        output: { type: 'error-text', value: expect.stringContaining(String(value)) },
      });
  });

  it('T-6: a large answer is kept for `read_result`, if the agent has that tool', () => {
    const long = 'word '.repeat(1_000);
    const kept = options({ isReadable: true });
    const { output, kept: whole, tokens } = clientOutcome(kept.made, call, { output: long, isError: false });
    expect(whole).toBe(long);
    expect(JSON.stringify(output)).toContain('r1_2_3');
    expect(tokens).toBe(estimateOutputTokens(output));
    const without = clientOutcome(options().made, call, { output: long, isError: false });
    expect(without.kept).toBeNull();
    expect(JSON.stringify(without.output)).not.toContain('r1_2_3');
  });
});
