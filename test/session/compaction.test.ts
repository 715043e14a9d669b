import { describe, expect, it } from 'vitest';
import {
  type AgentDefinition,
  defineAgent,
  type InputMessage,
  type SessionBudget,
  type SessionEvent,
} from '../../src/index.ts';
import { startModelServer } from '../../src/testing/index.ts';
import { asksForSummary, looker, tokensOfBody } from '../support/long-talk.ts';
import { counters, type Run, report, run, runOverWire, wireModel } from '../support/session.ts';

const look = (input: unknown) => `seen ${JSON.stringify(input)} ${'word '.repeat(200)}`;
const tools = { look };
const limits = { maxTurns: 60, contextWindow: 6_000 };
const summary = () => ({ text: 'It looked, and saw words.' });

const of = <Type extends SessionEvent['type']>({ events }: Run, type: Type) =>
  events.filter((event): event is Extract<SessionEvent, { type: Type }> => event.type === type);
const textsOf = (body: { messages: unknown[] }) => body.messages.map((message) => JSON.stringify(message));

const overWire = (definition: Partial<AgentDefinition>, turns = 30, answer: Parameters<typeof looker>[1] = summary) =>
  runOverWire({ script: looker(turns, answer), definition: { tools, limits, ...definition } });

/** What a session of `turns` turns counts, whose model calls `look` in all but the last. */
const seen = (turns: number, ran: Run, more: Parameters<typeof counters>[0]) =>
  counters({
    ...{ turns, attempts: turns, reports: { attempted: 1 }, tokens: ran.result.counters.tokens, costUsd: null },
    toolCalls: { requested: turns, answered: turns, executed: turns - 1, succeeded: turns - 1, acknowledged: 1 },
    ...more,
  });

describe('T-9: a long conversation is compacted before a turn', () => {
  it('by a summary, which is one request more, and whose text takes the place of whole exchanges', async () => {
    const ran = await overWire({ compact: {} });
    const compactions = of(ran, 'conversation.compacted');
    const count = compactions.length;
    expect(count).toBeGreaterThan(0);
    expect(ran.result.counters).toEqual(
      seen(30, ran, { compactions: count, summaries: count, cachePrefixBreaks: { compaction: count } }),
    );
    expect(ran.requests.filter(asksForSummary)).toHaveLength(count);
    expect(of(ran, 'results.omitted')).toEqual([]);
    const [first] = compactions;
    const [, next] = ran.requests.slice(ran.requests.findIndex(asksForSummary));
    const texts = textsOf(next?.body ?? { messages: [] });
    expect(texts[0]).toContain('Do the task.');
    expect(texts[1]).toContain('It looked, and saw words.');
    expect(texts[1]).toContain(`[${(first?.ranges[0]?.[1] ?? 0) - 1} earlier messages were replaced by what follows.`);
    // The prompt, the summary, and the last three turns, each with its answer.
    expect(texts).toHaveLength(8);
    for (const request of ran.requests) expect(tokensOfBody(request)).toBeLessThan(6_000 - 1_500);
    expect(ran.result.conversation.length).toBeLessThan(60);
  });

  it('by leaving messages out, or by what a function makes of them', async () => {
    const dropped = await overWire({ compact: { by: 'drop', keep: 1 } });
    const count = of(dropped, 'conversation.compacted').length;
    expect(count).toBeGreaterThan(0);
    expect(dropped.result.counters).toEqual(
      seen(30, dropped, { compactions: count, cachePrefixBreaks: { compaction: count } }),
    );
    expect(of(dropped, 'conversation.compacted')[0]?.message).toMatch(
      /^\[\d+ earlier messages were left out\. Read them in pages with read_history\.\]$/,
    );
    const given: [number, unknown][] = [];
    const ran = await runOverWire({
      script: looker(30, summary),
      definition: {
        ...{ tools, limits },
        compact: {
          by: async ({ messages, context, signal }) => {
            given.push([messages.length, context]);
            Object.assign(messages[0] ?? {}, { role: 'changed' });
            expect(signal.aborted).toBe(false);
            return `There were ${messages.length}.`;
          },
        },
      },
      options: { context: 'mine' },
    });
    expect(of(ran, 'conversation.compacted').map(({ asked }) => asked)).toEqual(given.map(() => null));
    expect(given[0]).toEqual([expect.any(Number), 'mine']);
    expect(JSON.stringify(ran.requests.at(-1)?.body)).toContain(`There were ${given.at(-1)?.[0]}.`);
  });

  it('T-9a: what is pinned, the prompt, what steering added and the last turns stay', async () => {
    const messages = [
      { role: 'user' as const, content: 'Hello.' },
      { role: 'assistant' as const, content: 'Hello, who is there?' },
      { role: 'user' as const, content: 'Call me Ada.', providerOptions: { pawl: { pinned: true } } },
      { role: 'assistant' as const, content: 'I shall, Ada.' },
      { role: 'user' as const, content: 'Look around.' },
    ];
    const ran = await runOverWire({
      script: looker(30, summary),
      definition: { tools, limits, compact: { by: 'drop', keep: 2 } },
      options: { messages },
      during: (event, session) => {
        if (event.type === 'turn.started' && event.turn === 3) session.steer('Look twice.');
      },
    });
    const texts = textsOf(ran.requests.at(-1)?.body ?? { messages: [] });
    const all = texts.join('\n');
    for (const kept of ['Call me Ada.', 'Look around.', 'Look twice.', 'earlier messages were left out'])
      expect(all.split(kept)).toHaveLength(2);
    for (const gone of ['Hello.', 'who is there', 'I shall, Ada', 'Look 1.']) expect(all).not.toContain(gone);
    expect(of(ran, 'conversation.compacted')[0]?.ranges.length).toBeGreaterThan(1);
  });

  it('T-9 T-6d: a history that no window holds is compacted before the first turn', async () => {
    const content = (index: number) => `Message ${index}. ${'word '.repeat(600)}`;
    const messages = Array.from({ length: 40 }, (_, index): InputMessage[] => [
      { role: 'user', content: content(2 * index) },
      { role: 'assistant', content: content(2 * index + 1) },
    ]).flat();
    const ran = await runOverWire({
      script: (request) => (asksForSummary(request) ? summary() : report()),
      definition: { limits: { contextWindow: 8_000 }, compact: {} },
      options: { messages: [...messages, { role: 'user', content: 'And now?' }] },
    });
    expect(ran.requests.map(asksForSummary)).toEqual([true, false]);
    for (const request of ran.requests) expect(tokensOfBody(request)).toBeLessThan(8_000);
    const texts = textsOf(ran.requests[1]?.body ?? { messages: [] });
    expect(texts[0]).toContain('[74 earlier messages were replaced by what follows.');
    expect([texts.length, texts.at(-1)]).toEqual([8, expect.stringContaining('And now?')]);
    expect(ran.result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 1, compactions: 1, summaries: 1, reports: { attempted: 1 }, costUsd: null },
        tokens: ran.result.counters.tokens,
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
      }),
    );
  });

  it('T-9: `session.compact()` compacts before the next turn, also where no window is known', async () => {
    const at = [4, 5, 9];
    const ran = await runOverWire({
      script: looker(12, summary),
      definition: { tools, compact: { by: 'drop', keep: 2 }, limits: { maxTurns: 20 } },
      during: (event, session) => {
        if (event.type === 'turn.started' && at.includes(event.turn)) expect(session.compact()).toBe(true);
        if (event.type === 'session.succeeded') expect(session.compact()).toBe(false);
      },
    });
    expect(of(ran, 'conversation.compacted').map(({ turn, ranges }) => [turn, ranges])).toEqual([
      [5, [[1, 5]]],
      // The message of the first compaction, and the exchange that is old meanwhile.
      [6, [[1, 4]]],
      [10, [[1, 10]]],
    ]);
    expect(ran.result.counters).toEqual(seen(12, ran, { compactions: 3, cachePrefixBreaks: { compaction: 3 } }));
    const plain = await runOverWire({
      script: [report()],
      during: (event, session) => {
        if (event.type === 'turn.started') expect(() => session.compact()).toThrow('The agent has no `compact`');
      },
    });
    expect(plain.result.success).toBe(true);
  });

  it('T-9e: the model reads what was replaced, in pages', async () => {
    let asked = 0;
    const ran = await runOverWire({
      script: (request, index) => {
        if (!JSON.stringify(request.body).includes('were left out') || asked > 1) {
          return asked > 1 ? report() : { calls: [{ name: 'look', input: { number: index } }] };
        }
        asked += 1;
        return { calls: [{ name: 'read_history', input: asked === 1 ? {} : { page: 99 } }] };
      },
      definition: { tools, limits, compact: { by: 'drop' } },
    });
    const read = ran.result.turns.flatMap(({ attempts }) =>
      attempts.flatMap(({ calls }) => calls.filter(({ name }) => name === 'read_history')),
    );
    const [page, missing] = read.map(({ callId }) => JSON.stringify(ran.result.conversation).split(`"${callId}"`)[2]);
    expect(page).toContain('[page 1 of ');
    expect(page).toContain('calls look');
    expect(read.map(({ slug }) => slug)).toEqual([null, 'tool_exec_failed']);
    expect(missing).toContain('There is no page 99 of earlier messages.');
  });
});

describe('T-9b: a summary stays within the bound', () => {
  it('B-2: it takes the request of one of the attempts of its turn', async () => {
    const ran = await runOverWire({
      script: (request) => {
        if (asksForSummary(request)) return { text: 'It looked.' };
        const isShort = JSON.stringify(request.body).includes('It looked.');
        return isShort
          ? {}
          : { calls: [{ name: 'look', input: {} }], usage: { input: tokensOfBody(request), output: 9 } };
      },
      definition: { tools, compact: { keep: 1 }, limits: { ...limits, maxRetries: 3 } },
    });
    const last = ran.result.turns.at(-1);
    expect([last?.attempts.length, ran.result.slugs[0]]).toEqual([2, 'retries_exhausted']);
    expect(ran.result.counters.requests).toBe(ran.requests.length);
    expect(of(ran, 'summary.requested').map(({ turn }) => turn)).toEqual([last?.turn]);
  });

  it('T-6d: it fits the window of its own model', async () => {
    await using small = await startModelServer(() => ({ text: 'Short.' }));
    const model = { model: wireModel('openai', small.url, 'small'), contextWindow: 1_500 };
    const ran = await overWire({ compact: { model } });
    expect(small.requests).toHaveLength(ran.result.counters.compactions);
    for (const request of small.requests) expect(tokensOfBody(request)).toBeLessThan(1_500 - 375);
  });

  it('B-1: so each turn needs two, in the agent and in a session that narrows it', async () => {
    const models = [wireModel('openai', 'http://127.0.0.1:9')];
    const define = (definition: Partial<AgentDefinition>) => defineAgent({ name: 'one', models, ...definition });
    expect(() => define({ compact: {}, limits: { maxRetries: 1 } })).toThrow(
      '`limits.maxRetries` must be at least 2, since the summary of `compact` is one of the requests of a turn; got 1.',
    );
    expect(() => define({ compact: { by: 'drop' }, limits: { maxRetries: 1 } })).not.toThrow();
    await expect(run({ agent: define({ compact: {} }), options: { limits: { maxRetries: 1 } } })).rejects.toThrow(
      '`limits.maxRetries` must be at least 2',
    );
  });

  it('B-4: it is paid from the budgets, and none is asked for where one request is left', async () => {
    await using small = await startModelServer(() => ({ text: 'Short.', usage: { input: 1_000, output: 10 } }));
    // A dollar a token, so that sums are exact.
    const price = { input: 1_000_000, output: 1_000_000 };
    const paid = (pricing: AgentDefinition['pricing'], budget: SessionBudget) =>
      runOverWire({
        script: looker(30, summary),
        definition: { tools, limits, pricing, compact: { model: wireModel('openai', small.url, 'small') } },
        options: { budget },
      });
    await expect(paid({ 'scripted:scripted': price }, { costUsd: 1 })).rejects.toThrow('has none for "scripted:small"');
    const ran = await paid({ 'scripted:scripted': price, 'scripted:small': price }, { costUsd: 1_000_000 });
    const { tokens, summaries, costUsd } = ran.result.counters;
    expect([small.requests.length, costUsd]).toEqual([summaries, tokens.input + tokens.output]);
    expect(ran.result.turns.length).toBe(30);
    // The first compaction would come before turn 14.
    const few = await paid({}, { requests: 14 });
    expect(few.result.counters).toMatchObject({ requests: 14, attempts: 13, summaries: 1 });
    const fewer = await paid({}, { requests: 13 });
    expect(fewer.result.counters).toMatchObject({ requests: 13, attempts: 13, summaries: 0 });
  });
});

describe('T-9d: a compaction that fails changes nothing, and the context guard does what is left to do', () => {
  it.each([
    ['its model fails', () => ({ status: 503 }), 'scripted error'],
    ['it is empty', () => ({ text: '  ' }), 'The summary is empty.'],
    ['it is cut off', () => ({ text: 'It loo', finishReason: 'length' as const }), 'The summary is truncated.'],
    ['it is too large', () => ({ text: 'long '.repeat(2_000) }), 'tokens; it may have 1125.'],
  ])('%s', async (_, answer, detail) => {
    const ran = await overWire({ compact: {} }, 26, answer);
    const failed = of(ran, 'compaction.failed');
    expect(failed.length).toBeGreaterThan(0);
    expect(failed[0]?.detail).toContain(detail);
    expect(of(ran, 'conversation.compacted')).toEqual([]);
    expect(ran.requests.filter(asksForSummary)).toHaveLength(failed.length);
    const { cachePrefixBreaks } = ran.result.counters;
    expect(ran.result.counters).toEqual(seen(26, ran, { summaries: failed.length, cachePrefixBreaks }));
    // T-9c: it is tried again once the conversation has grown, not before every turn.
    expect(failed.length).toBeLessThan(6);
    expect(ran.warnings).toEqual([]);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no memory')), 'compact.by() failed: no memory'],
    ['is late', () => new Promise<string>(() => {}), 'compact.by() failed: it did not return within 5 ms'],
    ['returns a blank text', () => ' ', 'compact.by() must return a text that is not blank.'],
    ['makes it longer', () => 'x'.repeat(20_000), 'The text has'],
  ])('its function %s', async (_, by, detail) => {
    const ran = await overWire({
      compact: { by, keep: 1 },
      limits: { ...limits, contextWindow: 6_000, prepareTimeoutMs: 5 },
    });
    expect(of(ran, 'compaction.failed')[0]).toMatchObject({ detail: expect.stringContaining(detail), asked: null });
    expect(ran.result.success).toBe(true);
  });

  it('G-2: its summary is withheld by the check of replies', async () => {
    const checkReply = ({ reply }: { reply: unknown }) =>
      JSON.stringify(reply).includes('saw words')
        ? { allow: false as const, reason: 'Private.' }
        : { allow: true as const };
    const ran = await overWire({ compact: {}, checkReply }, 26);
    expect(of(ran, 'compaction.failed')[0]?.detail).toContain('Private.');
    expect([of(ran, 'conversation.compacted'), ran.result.success]).toEqual([[], true]);
  });

  it('nothing but the last turns is left', async () => {
    const ran = await overWire({ compact: { keep: 50 } }, 24);
    expect(of(ran, 'compaction.failed')[0]?.detail).toBe('No exchange before the last turns is left to compact.');
    expect(ran.requests.filter(asksForSummary)).toEqual([]);
  });
});
