import { describe, expect, it } from 'vitest';
import { type AgentDefinition, defineAgent } from '../../src/index.ts';
import { startModelServer } from '../../src/testing/index.ts';
import { counters, report, run, runOverWire, tokensOf, wireModel } from '../support/session.ts';
import { search } from '../support/tools.ts';

const markup = '<tool_call>\n{"name": "search", "arguments": {"q": "x"}}\n</tool_call>';
const tools = { search };
const slugs = (result: { turns: readonly { attempts: readonly { slugs: readonly string[] }[] }[] }) =>
  result.turns.map(({ attempts }) => attempts.map((attempt) => attempt.slugs));

describe('F-4c: a call that is written as text', () => {
  const asked: [string, Partial<AgentDefinition>, object][] = [
    ['reports', { tools }, report()],
    ['finishes by text', { tools, finish: 'text' }, { text: 'It is J-12.' }],
  ];
  it.each(asked)('is told to an agent that %s, and neither run nor delivered', async (_name, definition, last) => {
    const { result, requests } = await runOverWire({
      script: [{ text: markup }, { calls: [{ name: 'search', input: { q: 'x' } }] }, last],
      definition,
    });
    expect(slugs(result)).toEqual([[['call_as_text'], []], [[]]]);
    expect(JSON.stringify(requests[1]?.body.messages.at(-1))).toContain('(call_as_text)');
    const reported = definition.finish === 'text' ? 0 : 1;
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 2, attempts: 3, failedAttempts: 1, notices: 1, slugs: { call_as_text: 1 } },
        ...{ tokens: tokensOf(3), costUsd: null, reports: { attempted: 1 } },
        toolCalls: {
          requested: 1 + reported,
          answered: 1 + reported,
          executed: 1,
          succeeded: 1,
          acknowledged: reported,
        },
      }),
    );
  });

  it('is no report on the last turn', async () => {
    const { result } = await runOverWire({
      script: [{ text: markup }],
      definition: { tools, limits: { maxTurns: 1, maxRetries: 2 } },
    });
    expect(slugs(result)).toEqual([[['call_as_text'], ['call_as_text']]]);
    expect(result.counters).toEqual(
      counters({
        cachePrefixBreaks: { report_only: 1 },
        ...{ turns: 1, attempts: 2, failedAttempts: 2, notices: 2 },
        slugs: { call_as_text: 3, max_turns_exhausted: 1, retries_exhausted: 1 },
        ...{ tokens: tokensOf(2), costUsd: null },
      }),
    );
  });

  it('is an answer like any other where no tools are offered', async () => {
    const { result } = await runOverWire({ script: [{ text: markup }], definition: { finish: 'text' } });
    expect(result.report).toMatchObject({ accepted: true, content: markup });
    expect(result.counters).toEqual(
      counters({ turns: 1, attempts: 1, tokens: tokensOf(1), costUsd: null, reports: { attempted: 1 } }),
    );
  });
});

describe('F-4d: `<think>` at the head of a text', () => {
  it.each([true, false])('is reasoning, streamed: %s', async (streaming) => {
    const { result, events } = await runOverWire({
      script: [{ text: ' <think>\nSo it is.\n</think>\n\nIt is J-12.', pieceLength: 3 }],
      definition: { finish: 'text', settings: { streaming } },
    });
    expect(result.report.content).toBe('It is J-12.');
    const deltas = (kind: string) =>
      events.flatMap((event) => (event.type === 'model.delta' && event.kind === kind ? event.delta : [])).join('');
    expect([deltas('reasoning'), deltas('text')]).toEqual(['\nSo it is.\n', 'It is J-12.']);
    expect(result.counters).toEqual(
      counters({ turns: 1, attempts: 1, tokens: tokensOf(1), costUsd: null, reports: { attempted: 1 } }),
    );
  });

  it('is text anywhere else, and reasoning alone where it is not closed', async () => {
    const { result } = await runOverWire({
      script: [{ text: '<think>Hm, </thin' }, { text: 'A <think>tag</think>.' }],
      definition: { finish: 'text' },
    });
    expect(slugs(result)).toEqual([[['reasoning_only'], []]]);
    expect(result.report.content).toBe('A <think>tag</think>.');
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 2, failedAttempts: 1, notices: 1, slugs: { reasoning_only: 1 } },
        ...{ tokens: tokensOf(2), costUsd: null, reports: { attempted: 1 } },
      }),
    );
  });
});

describe('F-4e: a reply that repeats itself', () => {
  const endless: [string, object][] = [
    ['one line', { text: 'I will look now.\n'.repeat(100_000) }],
    ['one character', { text: `So${'!'.repeat(1_000_000)}` }],
    ['its reasoning', { reasoning: 'Wait, no. '.repeat(100_000) }],
    ['blanks in an input', { calls: [{ name: 'search', input: `{"q":${' '.repeat(1_000_000)}` }] }],
  ];
  it.each(endless)('is cut off there: %s', async (_name, reply) => {
    await using server = await startModelServer([{ ...reply, pieceLength: 1_000 }, report()]);
    const agent = defineAgent({ name: 'cut', models: [wireModel('openai', server.url)], tools });
    const { result, events } = await run({ agent, requests: server.requests });
    expect(slugs(result)[0]?.[0]).toEqual(['degenerate_reply']);
    const came = events.flatMap((event) => (event.type === 'model.delta' ? event.delta : []));
    // The server sends reasoning in one piece.
    if (!('reasoning' in reply)) expect(came.join('').length).toBeLessThan(40_000);
    const [first] = result.turns[0]?.attempts ?? [];
    expect(first?.fault).toBeNull();
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 2, failedAttempts: 1, notices: 1, slugs: { degenerate_reply: 1 } },
        ...{ tokens: result.counters.tokens, costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
      }),
    );
  });

  it('is not one that has a long table, or an input of one line again and again', async () => {
    const rows = Array.from({ length: 2_000 }, (_, index) => `| ${index} | ok | ok | ok |`).join('\n');
    const { result } = await runOverWire({
      script: [
        { text: rows, calls: [{ name: 'search', input: { q: 'same\n'.repeat(10_000) } }] },
        { text: 'A'.repeat(12_000), calls: [{ name: 'search', input: { q: 'x' } }] },
        report(),
      ],
      definition: { tools },
    });
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 3, attempts: 3, tokens: tokensOf(3), costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 2, acknowledged: 1 },
      }),
    );
  });
});
