import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { counters, run, wireModel } from '../support/session.ts';

/** Serves these texts as the bodies of streams, one a request; the last one again and again. */
async function streaming(...bodies: string[]) {
  let requests = 0;
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(bodies[requests] ?? bodies.at(-1));
    requests += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const calling = (name: string, input: string) =>
  chunk({ tool_calls: [{ index: 0, id: `c-${name}`, type: 'function', function: { name, arguments: input } }] });
const done = 'data: [DONE]\n\n';
const reported = calling('final_report', '{"content":"Done."}') + chunk({}, 'tool_calls') + done;

async function looked(...bodies: string[]) {
  await using server = await streaming(...bodies, reported);
  const ran: unknown[] = [];
  const tools = { look: (input: unknown) => ran.push(input) };
  const agent = defineAgent({ name: 'looking', models: [wireModel('openai', server.url)], tools });
  const { result, events } = await run({ agent });
  const warned = events.flatMap((event) => (event.type === 'model.warned' ? event.warning : []));
  return { result, ran, warned };
}

describe('C-5: a stream that ends with [DONE] and gives no finish reason', () => {
  it('runs its whole calls, and is warned of once', async () => {
    const twice = calling('look', '{"a":1}') + done;
    const { result, ran, warned } = await looked(twice, twice.replace('c-look', 'c-again'));
    expect(ran).toEqual([{ a: 1 }, { a: 1 }]);
    expect(warned).toEqual(['the stream ended with [DONE] and no finish reason; its calls were taken as complete']);
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 3, attempts: 3, tokens: result.counters.tokens, costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 2, acknowledged: 1 },
      }),
    );
  });

  it.each([
    ['whose input is half', calling('look', '{"a":') + done],
    ['that did not say that it is done', calling('look', '{"a":1}')],
    ['that said so in a text', chunk({ content: 'data: [DONE]' }) + calling('look', '{"a":1}')],
    ['without a call', chunk({ content: 'So.' }) + done],
  ])('runs nothing of one %s', async (_name, body) => {
    const { result, ran } = await looked(body);
    expect(ran).toEqual([]);
    expect(result.turns[0]?.attempts[0]?.slugs).toEqual(['stream_interrupted', 'network_error']);
    const isCall = body.includes('"look"');
    const requested = isCall ? 2 : 1;
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 2, failedAttempts: 1, notices: 1, waits: 1, tokens: result.counters.tokens },
        ...{ costUsd: null, slugs: { stream_interrupted: 1, network_error: 1 }, reports: { attempted: 1 } },
        toolCalls: {
          ...{ requested, answered: requested, acknowledged: 1 },
          rejected: isCall ? { stream_interrupted: 1 } : {},
        },
      }),
    );
  });
});
