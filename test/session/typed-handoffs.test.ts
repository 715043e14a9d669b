import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, handoff, PawlError, runSession, type SessionEvent } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { assertInvariants, recordedAgent, startModelServer } from '../../src/testing/index.ts';
import { counters, report, tokensOf, wireModel } from '../support/session.ts';

const input = z.object({ invoice: z.string().regex(/^\d+$/) });
const transfer = (invoice: string) => ({ calls: [{ name: 'transfer_to_billing', input: { invoice } }] });

function desk(url: string, onHandoff: (stated: { invoice: string }, context: { context?: unknown }) => unknown) {
  const billing = defineAgent({
    name: 'billing',
    models: [wireModel('openai', url, 'large')],
    instructions: 'You bill.',
  });
  return defineAgent({
    name: 'desk',
    models: [wireModel('openai', url, 'small')],
    handoffs: { billing: handoff({ agent: billing, input, onHandoff }) },
  });
}

describe('T-8c: a handoff with an input', () => {
  it('is offered with its schema, refused until it fits, and its value is what the other agent reads', async () => {
    const heard: unknown[] = [];
    await using server = await startModelServer([transfer('seven'), transfer('7'), report()]);
    const agent = desk(server.url, ({ invoice }, { context }) => {
      heard.push([invoice, context]);
      return `Invoice ${invoice} was paid.`;
    });
    const result = await runSession(agent, { prompt: 'Go.', logger: false, context: { user: 'ada' } });
    assertInvariants(result);
    expect(result).toMatchObject({ status: 'succeeded', handedTo: 'billing' });
    expect(heard).toEqual([['7', { user: 'ada' }]]);
    const [first, , last] = server.requests.map(({ body }) => JSON.stringify(body));
    expect(first).toContain('"invoice"');
    expect(last).toContain('Invoice 7 was paid.');
    expect(server.requests.map(({ body }) => body.model)).toEqual(['small', 'small', 'large']);
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 2, attempts: 3, failedAttempts: 1, notices: 2 },
        slugs: { invalid_tool_input: 1 },
        cachePrefixBreaks: { handoff: 1 },
        toolCalls: {
          requested: 3,
          answered: 3,
          executed: 1,
          succeeded: 1,
          rejected: { invalid_tool_input: 1 },
          acknowledged: 1,
        },
        reports: { attempted: 1 },
        tokens: tokensOf(3),
        costUsd: null,
        tools: expect.anything(),
      }),
    );
  });

  it('stays where it is if `onHandoff` throws', async () => {
    await using server = await startModelServer([transfer('7'), report()]);
    const agent = desk(server.url, () => {
      throw new Error('no such invoice');
    });
    const events: SessionEvent[] = [];
    const onEvent = (event: SessionEvent) => void events.push(event);
    const result = await runSession(agent, { prompt: 'Go.', logger: false, onEvent });
    expect(result).toMatchObject({ status: 'succeeded', handedTo: null });
    expect(JSON.stringify(server.requests[1]?.body)).toContain('no such invoice');
    expect(server.requests.map(({ body }) => body.model)).toEqual(['small', 'small']);
  });

  it('is answered as it was when its session is a test', async () => {
    const journal = new MemoryJournal();
    await using server = await startModelServer([transfer('7'), report()]);
    let runs = 0;
    const agent = desk(server.url, () => {
      runs += 1;
      return 'paid';
    });
    await runSession(agent, { prompt: 'Go.', logger: false, journal, sessionId: 's' });
    const recorded = await recordedAgent(agent, { journal, sessionId: 's' });
    const again = await runSession(recorded.agent, { ...recorded.given, logger: false });
    expect([again.status, again.handedTo, runs]).toEqual(['succeeded', 'billing', 1]);
  });

  it('must be one', () => {
    const models = [wireModel('openai', 'http://127.0.0.1:1')];
    const billing = defineAgent({ name: 'billing', models });
    const define = (entry: object) => () =>
      defineAgent({ name: 'desk', models, handoffs: { billing: entry as never } });
    expect(define({ agent: {} })).toThrow('`handoffs.billing` must be an agent made by defineAgent');
    expect(define({ agent: billing, onHandof: () => 1 })).toThrow(/handoffs\.billing.*onHandoff/);
    expect(define({ agent: billing, input: 7 })).toThrow(PawlError);
    expect(() => handoff({ agent: billing, onHandoff: 7 as never })).toThrow('`onHandoff` must be a function; got 7.');
  });
});
