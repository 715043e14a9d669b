import type { JSONSchema7 } from '@ai-sdk/provider';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callsOf, oneReply, slugsOf } from '../support/replies.ts';
import { counters, report, runOverWire, tokensOf } from '../support/session.ts';
import { search } from '../support/tools.ts';

describe('every tool call is answered', () => {
  it('C-1 T-2: a reply with a valid, an unknown and a malformed call executes one call and answers all three', async () => {
    const run = await oneReply([
      { name: 'search', input: { q: 'x' } },
      { name: 'nope' },
      { name: 'search', input: '{"q": ' },
    ]);
    expect(slugsOf(run)).toEqual([null, 'unknown_tool', 'malformed_tool_call']);
    expect(run.result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        toolCalls: {
          requested: 4,
          answered: 4,
          executed: 1,
          succeeded: 1,
          acknowledged: 1,
          rejected: { unknown_tool: 1, malformed_tool_call: 1 },
        },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
      }),
    );
  });

  it('C-2: input that is not an object is kept in the history as malformed_input', async () => {
    const { requests } = await oneReply([
      { name: 'search', input: '[1, 2' },
      { name: 'search', input: { q: 'x' } },
    ]);
    const assistant = requests[1]?.body.messages.find((message) => message.role === 'assistant');
    expect(assistant?.content).toContainEqual(expect.objectContaining({ input: { malformed_input: '[1, 2' } }));
  });

  it('C-2: missing and repeated ids are replaced in both the call and its answer', async () => {
    const run = await runOverWire({
      wire: 'anthropic',
      script: [
        {
          calls: [
            { name: 'search', input: { q: 'a' }, id: 'same' },
            { name: 'search', input: { q: 'b' }, id: 'same' },
          ],
        },
        { calls: [{ name: 'search', input: { q: 'c' }, id: 'same' }] },
        report(),
      ],
      definition: { tools: { search } },
    });
    const ids = run.result.turns.flatMap(({ attempts }) =>
      attempts.flatMap(({ calls }) => calls.map((call) => call.callId)),
    );
    expect(ids.slice(0, 3)).toEqual(['same', 'c00101001', 'c00201000']);
    expect(run.result.turns[0]?.attempts[0]?.calls.map((call) => call.result.value)).toEqual(['found a', 'found b']);
  });

  it.each(['null', '[]', '"text"', '{"q":"a"}{"q":"b"}', '{"q":"a",}', '{"q":"a","__proto__":{}}', '{"q":"a"'])(
    'C-5: a call with the input %s is not executed',
    async (input) => {
      const run = await oneReply([{ name: 'search', input }]);
      expect(slugsOf(run)).toEqual(['malformed_tool_call']);
      expect(run.result.counters.toolCalls.executed).toBe(0);
      expect(run.result.counters.slugs).toEqual({ malformed_tool_call: 1 });
    },
  );

  it('C-5: empty arguments count as an empty object', async () => {
    const ping = tool({ description: 'Pings.', inputSchema: z.object({}), execute: () => 'pong' });
    const run = await oneReply(
      [
        { name: 'ping', input: '' },
        { name: 'ping', input: ' ' },
      ],
      { tools: { ping } },
    );
    expect(callsOf(run).map((call) => call.result.value)).toEqual(['pong', 'pong']);
  });

  it('C-5: a call whose input violates the schema is answered with the reasons', async () => {
    const run = await oneReply([{ name: 'search', input: { q: 7 } }]);
    expect(slugsOf(run)).toEqual(['invalid_tool_input']);
    expect(callsOf(run)[0]?.result.message).toContain('q: ');
    expect(run.result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        notices: 1,
        toolCalls: { requested: 2, answered: 2, acknowledged: 1, rejected: { invalid_tool_input: 1 } },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
        slugs: { invalid_tool_input: 1 },
      }),
    );
  });

  it('C-1: empty, prototype and malformed names are unknown tools, and the conversation stays valid', async () => {
    const run = await oneReply(['', 'toString', '__proto__', 'rm -rf /'].map((name) => ({ name })));
    expect(new Set(slugsOf(run))).toEqual(new Set(['unknown_tool']));
    const names = run.result.conversation.flatMap((message) =>
      message.role === 'tool' ? message.content.map((part) => part.toolName) : [],
    );
    expect(names).toEqual(['unnamed_tool', 'toString_', '__proto___', 'rm_-rf__', 'final_report']);
  });

  it('C-1: calls over the limit are answered with tool_limit', async () => {
    const calls = Array.from({ length: 4 }, (_, index) => ({ name: 'search', input: { q: String(index) } }));
    const run = await oneReply(calls, { limits: { maxToolCallsPerTurn: 2 } });
    expect(slugsOf(run)).toEqual([null, null, 'tool_limit', 'tool_limit']);
  });

  it('C-5 P-4: in a reply cut off by length, only calls with a complete object are executed', async () => {
    const run = await runOverWire({
      script: [
        {
          calls: [
            { name: 'search', input: { q: 'whole' } },
            { name: 'search', input: '' },
            { name: 'search', input: '{"q":"ha' },
          ],
          finishReason: 'length',
        },
        report(),
      ],
      definition: { tools: { search } },
    });
    expect(slugsOf(run)).toEqual([null, 'response_truncated', 'response_truncated']);
  });

  it('C-1: answers keep the order of the calls, not the order in which the tools finish', async () => {
    const gates: (() => void)[] = [];
    const gate = tool({
      description: 'Ends when released.',
      inputSchema: z.object({ n: z.number() }),
      execute: ({ n }) =>
        new Promise<string>((resolve) => {
          gates[n] = () => resolve(`answer ${n}`);
          if (gates.filter(Boolean).length === 3) for (const open of gates.toReversed()) open();
        }),
    });
    const calls = [0, 1, 2].map((n) => ({ name: 'gate', input: { n } }));
    const run = await oneReply(calls, { tools: { gate } });
    const answered = run.result.conversation.find((message) => message.role === 'tool');
    expect(answered?.content.map((part) => (part.output.type === 'text' ? part.output.value : ''))).toEqual([
      'answer 0',
      'answer 1',
      'answer 2',
    ]);
  });

  it('C-3 N-1: a hung or throwing validator yields check_failed in bounded time', async () => {
    const hanging = tool({
      description: 'Hangs while its input is checked.',
      inputSchema: z.object({}).refine(() => new Promise<boolean>(() => undefined)),
      execute: () => 'never',
    });
    const throwing = tool({
      description: 'Throws while its input is checked.',
      inputSchema: z.object({}).transform((): object => {
        throw new Error('bad schema');
      }),
      execute: () => 'never',
    });
    const run = await oneReply([{ name: 'hanging' }, { name: 'throwing' }], {
      tools: { hanging, throwing },
      limits: { toolTimeoutMs: 30 },
    });
    expect(slugsOf(run)).toEqual(['check_failed', 'check_failed']);
  });

  it('C-5: AI SDK, JSON Schema and plain function tools are all validated and run', async () => {
    const { jsonSchema } = await import('ai');
    const schema: JSONSchema7 = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const wrapped = tool({
      description: 'Doubles.',
      inputSchema: jsonSchema<{ n: number }>(schema),
      execute: ({ n }) => n * 2,
    });
    const stream = tool({
      description: 'Streams.',
      inputSchema: z.object({}),
      async *execute() {
        yield 'half';
        yield 'whole';
      },
    });
    const run = await oneReply(
      [{ name: 'wrapped', input: { n: 2 } }, { name: 'wrapped', input: { n: 'two' } }, { name: 'stream' }],
      { tools: { wrapped, stream } },
    );
    expect(callsOf(run).map((call) => call.result.value)).toEqual([4, null, 'whole']);
    expect(slugsOf(run)).toEqual([null, 'invalid_tool_input', null]);
    const seen = run.events.flatMap((event) => (event.type === 'tool.progressed' ? [event.output] : []));
    expect(seen).toEqual([
      { type: 'text', value: 'half' },
      { type: 'text', value: 'whole' },
    ]);
  });
});
