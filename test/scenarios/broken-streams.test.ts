import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { ReplyReader } from '../../src/model/reply/read-reply.ts';
import { callsOf } from '../support/replies.ts';
import { counters, report, run, runOverWire, tokensOf, wireModel } from '../support/session.ts';
import { search } from '../support/tools.ts';

const whole = { name: 'search', input: { q: 'whole' } };

/** A reply whose stream is reset as the third call's input arrives. */
const resetInThirdCall = {
  text: 'Let me look.',
  calls: [whole, { name: 'search', input: { q: 'second' } }, { name: 'search', input: { q: 'x'.repeat(200_000) } }],
  cut: { afterBytes: 101_500, how: 'reset' as const },
  pieceLength: 1_000,
};

describe('streams that break', () => {
  it.each(['openai', 'anthropic'] as const)(
    'C-1 C-5 S-2: on the %s wire, calls that had arrived whole are answered, and one that had begun is logged',
    async (wire) => {
      const ran = await runOverWire({
        wire,
        script: [resetInThirdCall, report()],
        definition: { tools: { search } },
      });
      const calls = callsOf(ran);
      expect(calls.map(({ name, slug, executed }) => [name, slug, executed])).toEqual([
        ['search', 'stream_interrupted', false],
        ['search', 'stream_interrupted', false],
      ]);
      expect(ran.warnings[0]).toMatchObject({
        slugs: ['stream_interrupted', 'network_error'],
        reply: {
          toolCalls: [{ input: '{"q":"whole"}' }, { input: '{"q":"second"}' }],
          begunCalls: [{ name: 'search', input: expect.stringMatching(/^\{"q":"x+$/) }],
          text: 'Let me look.',
        },
      });
      expect(ran.result.turns[0]?.attempts[0]?.reply?.openInputs).toHaveLength(1);
      const second = ran.requests[1]?.body.messages ?? [];
      expect(JSON.stringify(second)).toContain('Your reply broke off');
      expect(ran.result.counters).toEqual(
        counters({
          turns: 1,
          attempts: 2,
          failedAttempts: 1,
          notices: 1,
          waits: 1,
          toolCalls: { requested: 3, answered: 3, acknowledged: 1, rejected: { stream_interrupted: 2 } },
          reports: { attempted: 1 },
          tokens: tokensOf(1),
          costUsd: null,
          slugs: { stream_interrupted: 1, network_error: 1 },
        }),
      );
    },
  );
});

/** A server whose reply never ends, by `event`. Resolves `closed` when the client goes. */
async function endlessServer(event: string, opening: string) {
  const closed = Promise.withResolvers<number>();
  const server = createServer((_request, response: ServerResponse) => {
    let sent = 0;
    const piece = event.repeat(200);
    const send = () => {
      while (!response.destroyed && response.write(piece)) sent += piece.length;
    };
    response.on('drain', send).on('close', () => closed.resolve(sent));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(opening, send);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, closed: closed.promise, [Symbol.asyncDispose]: close };
}

describe('replies without an end', () => {
  const chunk = (delta: object) => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta }] })}\n\n`;
  // Longer than a period that counts as a repetition.
  const words = Array.from({ length: 1_000 }, (_, index) => index).join(' ');
  const call = { index: 0, id: 'a', type: 'function', function: { name: 'search', arguments: '{"q":"' } };

  it.each([
    ['text', chunk({ content: words }), chunk({ role: 'assistant', content: '' })],
    ['reasoning', chunk({ reasoning_content: words }), chunk({ role: 'assistant', content: '' })],
    [
      'the input of a call',
      chunk({ tool_calls: [{ index: 0, function: { arguments: 'x'.repeat(1_000) } }] }),
      chunk({ tool_calls: [call] }),
    ],
  ])(
    'C-5: endless %s is cancelled at replyBytes and fails the attempt, as response_truncated',
    async (_, event, opening) => {
      await using server = await endlessServer(event, opening);
      const agent = defineAgent({
        name: 'tested',
        models: [wireModel('openai', server.url)],
        tools: { search },
        limits: { replyBytes: 1_000_000, maxRetries: 1 },
      });
      const { result, warnings } = await run({ agent });
      // The client closed the connection, so the server could not send much more than the limit.
      expect(await server.closed).toBeLessThan(50_000_000);
      expect(result.slugs).toEqual(['retries_exhausted', 'response_truncated']);
      expect(warnings[0]).toMatchObject({ slugs: ['response_truncated'], truncated: true });
      expect(result.counters).toEqual(
        counters({
          turns: 1,
          attempts: 1,
          failedAttempts: 1,
          costUsd: null,
          slugs: { response_truncated: 2, retries_exhausted: 1 },
        }),
      );
    },
  );

  it('C-5: an input counts once, whether its deltas bring it, its call or both', async () => {
    const input = { q: 'x'.repeat(6_000) };
    const parts = (deltas: boolean): LanguageModelV4StreamPart[] => [
      { type: 'tool-input-start', id: 'a', toolName: 'search' },
      ...(deltas ? [{ type: 'tool-input-delta', id: 'a', delta: JSON.stringify(input) } as const] : []),
      { type: 'tool-input-end', id: 'a' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: JSON.stringify(input) },
    ];
    const sizes = [true, false].map((deltas) => {
      const reader = new ReplyReader({ turn: 1, attempt: 1, takenIds: new Set() });
      for (const part of parts(deltas)) reader.takePart(part);
      return reader.size;
    });
    for (const size of sizes) {
      expect(size).toBeGreaterThan(6_000);
      expect(size).toBeLessThan(7_000);
    }
  });

  it('C-1 C-5: no call of a reply that is too large is executed; each is answered response_truncated', async () => {
    const ran = await runOverWire({
      wire: 'anthropic',
      script: [{ calls: [whole, { name: 'search', input: { q: 'x'.repeat(20_000) } }], pieceLength: 1_000 }, report()],
      definition: { tools: { search }, limits: { replyBytes: 4_000 } },
    });
    expect(callsOf(ran).map(({ slug, executed }) => [slug, executed])).toEqual([['response_truncated', false]]);
    expect(ran.result.success).toBe(true);
    expect(ran.result.counters).toMatchObject({ attempts: 2, waits: 0, slugs: { response_truncated: 1 } });
  });
});
