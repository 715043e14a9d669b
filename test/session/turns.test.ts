import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type PrepareTurn, type TurnPreparation } from '../../src/index.ts';
import { manualClock, startModelServer } from '../../src/testing/index.ts';
import { counters, report, run, runOverWire, tokensOf, wireModel } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

const inputSchema = z.object({});
const other = tool({ description: 'Another one.', inputSchema, execute: () => 'other' });
const namesOf = (body: { tools?: unknown[] }) => JSON.stringify(body.tools).match(/(?<="name":")[^"]+/g);
/** One call of a tool, then the report. */
const oneCall = {
  turns: 2,
  attempts: 2,
  toolCalls: { requested: 2, answered: 2, executed: 1, succeeded: 1, acknowledged: 1 },
  reports: { attempted: 1 },
  tokens: tokensOf(2),
  costUsd: null,
};
const unprepared = (prepareTurn: PrepareTurn, definition = {}) =>
  runOverWire({ script: [searchCall, report()], definition: { tools: { search, other }, prepareTurn, ...definition } });

describe('T-7: a turn is prepared', () => {
  it('with its own tools, instructions and settings, and without any again', async () => {
    const told: Omit<TurnPreparation, 'signal' | 'messages' | 'counters'>[] = [];
    const { result, requests, events } = await runOverWire({
      script: [searchCall, report()],
      definition: {
        tools: { search, other },
        instructions: 'Be brief.',
        settings: { temperature: 0.5, seed: 7 },
        limits: { maxTurns: 2 },
        prepareTurn: ({ turn, isLastTurn, context, messages, counters: sofar, signal }) => {
          told.push({ turn, isLastTurn, context });
          expect(signal.aborted).toBe(false);
          expect([messages.length, sofar.turns, sofar.toolCalls.executed]).toEqual(turn === 1 ? [1, 0, 0] : [3, 1, 1]);
          if (turn > 1) return;
          return { activeTools: ['search'], instructions: 'Search first.', settings: { temperature: 0 } };
        },
      },
      options: { context: { user: 'ada' } },
    });
    expect(result.success).toBe(true);
    expect(result.counters).toEqual(counters({ cachePrefixBreaks: { instructions: 1 }, ...oneCall, notices: 2 }));
    expect(told).toEqual([
      { turn: 1, isLastTurn: false, context: { user: 'ada' } },
      { turn: 2, isLastTurn: true, context: { user: 'ada' } },
    ]);
    expect(requests.map(({ body }) => [namesOf(body), body.messages[0]?.content, body.temperature, body.seed])).toEqual(
      [
        [['search', 'other', 'final_report'], 'Search first.', 0, 7],
        [['search', 'other', 'final_report'], 'Be brief.', 0.5, 7],
      ],
    );
    expect(events.filter(({ type }) => type === 'turn.planned')).toMatchObject([
      {
        turn: 1,
        speaker: null,
        tools: ['search', 'final_report'],
        offered: null,
        targets: null,
        settings: { temperature: 0 },
      },
      { turn: 2, speaker: null, tools: null, targets: null, instructions: null, settings: null },
    ]);
  });

  it('B-5c: a tool that the turn may not call is offered, the notice names the others, and its call is refused', async () => {
    const { result, requests } = await unprepared(() => ({ activeTools: ['other'] }), { limits: { maxRetries: 2 } });
    expect(result.success).toBe(true);
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        notices: 2,
        toolCalls: { requested: 2, answered: 2, acknowledged: 1, rejected: { tool_not_permitted: 1 } },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
        slugs: { tool_not_permitted: 1 },
      }),
    );
    expect(JSON.stringify(requests[0]?.body.messages)).toContain(
      'system notice: In this turn, only these tools may be called: other, final_report.',
    );
    expect(JSON.stringify(requests[1]?.body.messages)).toContain(
      'search is not permitted in this turn, only other, final_report.',
    );
    expect(new Set(requests.map(({ body }) => JSON.stringify(namesOf(body))))).toEqual(
      new Set([JSON.stringify(['search', 'other', 'final_report'])]),
    );
  });

  it('B-5c: with `offer: planned`, it is neither offered nor known', async () => {
    const { result, requests } = await unprepared(() => ({ activeTools: ['other'], offer: 'planned' }), {
      limits: { maxRetries: 2 },
    });
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        notices: 1,
        toolCalls: { requested: 2, answered: 2, acknowledged: 1, rejected: { unknown_tool: 1 } },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
        slugs: { unknown_tool: 1 },
      }),
    );
    expect(namesOf(requests[0]?.body as never)).toEqual(['other', 'final_report']);
    expect(JSON.stringify(requests[1]?.body.messages)).toContain('The tools are: other, final_report.');
  });

  it('without any tool, a conversation that has calls still offers the tools, and refuses their calls', async () => {
    const { result, requests } = await runOverWire({
      script: [searchCall, searchCall, { text: 'Done.' }],
      definition: {
        tools: { search },
        finish: 'text',
        prepareTurn: ({ turn }) => (turn === 2 ? { activeTools: [] } : {}),
      },
    });
    expect(result.success).toBe(true);
    expect(result.counters.toolCalls).toMatchObject({ executed: 1, rejected: { tool_not_permitted: 1 } });
    expect(requests.map(({ body }) => namesOf(body))).toEqual([['search'], ['search'], ['search']]);
  });

  it('P-2: with some of the models, in an order of its own; another is never tried', async () => {
    await using server = await startModelServer([]);
    const models = ['one', 'two', 'three'].map((name) => wireModel('openai', server.url, name));
    const agent = defineAgent({
      name: 'chooser',
      models,
      limits: { maxRetries: 3 },
      prepareTurn: () => ({ models: ['scripted:three', 'scripted:one'] }),
    });
    const { result, requests, events } = await run({ agent, requests: server.requests });
    expect(result.slugs).toEqual(['retries_exhausted', 'empty_response']);
    expect(result.counters).toMatchObject({ turns: 1, attempts: 3, requests: 3, failedAttempts: 3 });
    expect(requests.map(({ body }) => body.model)).toEqual(['three', 'one', 'three']);
    expect(events.find(({ type }) => type === 'turn.planned')).toMatchObject({
      targets: ['scripted:three', 'scripted:one'],
    });
  });

  it('T-6: instructions that leave no room end the session before the request', async () => {
    const { result, requests } = await unprepared(() => ({ instructions: 'long '.repeat(20_000) }), {
      limits: { contextWindow: 10_000 },
    });
    expect(result.slugs).toEqual(['context_guard']);
    expect(result.counters).toEqual(counters({ turns: 1, collapses: 1, slugs: { context_guard: 1 } }));
    expect(requests).toEqual([]);
  });

  it.each<[string, PrepareTurn, string]>([
    ['throws', () => Promise.reject(new Error('no database')), 'prepareTurn() failed before turn 1: no database'],
    [
      'names a tool that is not there',
      () => ({ activeTools: ['search', 'dig'] }),
      'prepareTurn() failed before turn 1: `activeTools[1]` must be one of the tools of this turn (search, other, final_report); got "dig".',
    ],
    [
      'names a model that is not there',
      () => ({ models: ['openai:gpt-5'] }),
      '`models[0]` must be one of the models of this turn (scripted:scripted); got "openai:gpt-5".',
    ],
    ['names no model', () => ({ models: [] }), '`models` must be at least one target; got [].'],
    ['sets headers', () => ({ settings: { headers: {} } as object }), 'Unknown option `settings.headers`.'],
    [
      'asks for longer replies than the window keeps room for',
      () => ({ settings: { maxOutputTokens: 5_000 } }),
      '`settings.maxOutputTokens` must be at most 4096, which the context guard keeps free for the reply; got 5000.',
    ],
    ['sets a limit', () => ({ limits: { maxTurns: 99 } }) as object, 'Unknown option `limits`.'],
    ['returns no object', (() => 'all') as never, '`value` must be'],
  ])('one that %s ends the session before any request', async (_what, prepareTurn, said) => {
    const { result, requests } = await unprepared(prepareTurn, { limits: { contextWindow: 100_000 } });
    expect(result.slugs).toEqual(['turn_not_prepared']);
    expect(result.failure?.detail).toContain(said);
    expect(result.counters).toEqual(counters({ slugs: { turn_not_prepared: 1 } }));
    expect(requests).toEqual([]);
  });

  it('one that does not return is cut off in time, and told so by its signal', async () => {
    const clock = manualClock();
    let aborted = false;
    const { result } = await runOverWire({
      script: [],
      clock,
      alarms: 'manual',
      definition: {
        limits: { prepareTimeoutMs: 50 },
        prepareTurn: ({ signal }) => {
          signal.addEventListener('abort', () => {
            aborted = true;
          });
          clock.advance(50);
          return new Promise(() => {});
        },
      },
    });
    expect(result.slugs).toEqual(['turn_not_prepared']);
    expect(result.failure?.detail).toBe('prepareTurn() failed before turn 1: it did not return within 50 ms');
    expect(result.counters).toEqual(counters({ slugs: { turn_not_prepared: 1 } }));
    expect(aborted).toBe(true);
  });

  it('D-2: a stop meanwhile makes the turn the last; an abort ends the session', async () => {
    const stopped = await runOverWire({
      script: [report()],
      definition: { tools: { search }, prepareTurn: () => new Promise((resolve) => setImmediate(resolve, {})) },
      during: (event, session) => event.type === 'session.prepared' && queueMicrotask(() => session.stop()),
    });
    expect(stopped.result.success).toBe(true);
    expect(stopped.result.counters).toMatchObject({ turns: 1, collapses: 1, requests: 1 });
    expect(stopped.events.find(({ type }) => type === 'turn.started')).toMatchObject({ isLastTurn: true });
    const aborted = await runOverWire({
      script: [],
      definition: { prepareTurn: () => new Promise(() => {}) },
      during: (event, session) => event.type === 'session.prepared' && queueMicrotask(() => session.abort('enough')),
    });
    expect(aborted.result).toMatchObject({ status: 'aborted', slugs: ['aborted'] });
    expect(aborted.result.counters).toEqual(counters({ slugs: { aborted: 1 } }));
  });
});
