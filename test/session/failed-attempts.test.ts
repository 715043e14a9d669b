import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/index.ts';
import { counters, report, runOverWire, tokensOf } from '../support/session.ts';
import { search } from '../support/tools.ts';

const line = Array.from({ length: 20_000 }, (_, index) => index).join(' ');
const unknown = { name: 'nope', input: {}, id: 'n1' };
const textsOf = (messages: readonly Message[]) =>
  messages.flatMap(({ role, content }) =>
    role === 'assistant' ? content.flatMap((part) => (part.type === 'text' ? part.text : [])) : [],
  );

describe('C-7: what a failed attempt said', () => {
  it('is whole in the record, and nowhere in later requests', async () => {
    const { result, requests } = await runOverWire({
      script: [{ text: line }, report()],
      definition: { tools: { search } },
    });
    expect(result.turns[0]?.attempts[0]?.reply?.content).toMatchObject([{ type: 'text', text: line }]);
    expect(textsOf(result.conversation)).toEqual([]);
    expect(requests[1]?.body.messages.map(({ role }) => role)).toEqual(['user', 'user']);
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 2, failedAttempts: 1, notices: 1, slugs: { text_only: 1 } },
        ...{ tokens: tokensOf(2), costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
      }),
    );
  });

  it('stays by its head and tail where a call needs it', async () => {
    const { result, requests } = await runOverWire({
      script: [{ text: line, calls: [unknown] }, { calls: [{ name: 'search', input: line, id: 'n2' }] }, report()],
      definition: { tools: { search } },
    });
    const [text = ''] = textsOf(result.conversation);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_024);
    expect(text).toMatch(/^0 1 2 .* \[… left out …\] .* 19998 19999$/);
    const [, , third] = requests;
    const sent = third?.body.messages ?? [];
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'user']);
    expect(JSON.stringify(sent).length).toBeLessThan(8_000);
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 3, failedAttempts: 2, notices: 2, slugs: { unknown_tool: 1, malformed_tool_call: 1 } },
        ...{ tokens: tokensOf(3), costUsd: null, reports: { attempted: 1 } },
        toolCalls: {
          requested: 3,
          answered: 3,
          acknowledged: 1,
          rejected: { unknown_tool: 1, malformed_tool_call: 1 },
        },
      }),
    );
  });

  it('does not fill the window', async () => {
    const { result } = await runOverWire({
      script: [{ text: line, usage: { input: 500, output: 30_000 } }, { usage: { input: 600, output: 5 } }, report()],
      definition: { tools: { search }, limits: { contextWindow: 32_000 } },
    });
    expect(result.success).toBe(true);
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 3, failedAttempts: 2, notices: 2, slugs: { text_only: 1, empty_response: 1 } },
        ...{ tokens: result.counters.tokens, costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
      }),
    );
  });

  it('S-5: is not cut within a secret', async () => {
    const secret = 'sk-0123456789abcdef';
    const { result } = await runOverWire({
      script: [{ text: `${'a'.repeat(490)} ${secret} ${line}`, calls: [unknown] }, report()],
      definition: { tools: { search }, secrets: [secret] },
    });
    expect(JSON.stringify(result.conversation)).not.toContain(secret.slice(0, 8));
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 2, failedAttempts: 1, notices: 1, slugs: { unknown_tool: 1 } },
        ...{ tokens: tokensOf(2), costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 2, answered: 2, acknowledged: 1, rejected: { unknown_tool: 1 } },
      }),
    );
  });
});
