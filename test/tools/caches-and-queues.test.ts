import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, runSession, sqliteCache, type ToolCache } from '../../src/index.ts';
import { assertInvariants, manualClock, rehearsalModel } from '../../src/testing/index.ts';

const quiet = { prompt: 'Go.', logger: false } as const;
const calls = (...inputs: unknown[]) => ({ calls: inputs.map((input) => ({ name: 'look', input })) });
const report = { calls: [{ name: 'final_report', input: { content: 'done' } }] };

/** An agent that looks, with these inputs in one reply; `look` counts its runs. */
function looking(cache: ToolCache | undefined, inputs: unknown[], run: (n: number) => unknown = (n) => `seen ${n}`) {
  const seen = { runs: 0 };
  const look = {
    ...tool({
      inputSchema: z.object({ at: z.string() }).loose(),
      execute: () => {
        seen.runs += 1;
        return run(seen.runs);
      },
    }),
    ...(cache !== undefined && { cache }),
  };
  const agent = defineAgent({
    name: 'cached',
    models: [
      rehearsalModel(({ prompt }) => (JSON.stringify(prompt).includes('tool-result') ? report : calls(...inputs))),
    ],
    tools: { look },
  });
  return { agent, seen };
}

async function resultOf(agent: Parameters<typeof runSession>[0], options = {}) {
  const result = await runSession(agent, { ...quiet, ...options });
  assertInvariants(result);
  return result;
}

describe('C-9: the values of a tool that are used again', () => {
  it('by their input, in whichever order its fields are, until their time is over; hits are told and counted', async () => {
    const clock = manualClock();
    const { agent, seen } = looking({ ttlMs: 1_000 }, [{ at: 'a', of: 1 }]);
    const told: unknown[] = [];
    const onEvent = (event: { type: string }) => {
      if (event.type === 'tool.cached') told.push(event);
    };
    const first = await resultOf(agent, { clock, onEvent });
    expect([seen.runs, first.counters.cacheHits]).toEqual([1, 0]);
    clock.advance(900);
    const second = await resultOf(agent, { clock, onEvent });
    expect([seen.runs, second.counters.cacheHits]).toEqual([1, 1]);
    expect(second.counters.toolCalls).toMatchObject({ requested: 2, executed: 1, succeeded: 1 });
    expect(told).toEqual([expect.objectContaining({ type: 'tool.cached', name: 'look', ageMs: 900 })]);
    const outputs = [first, second].map(({ conversation }) =>
      conversation.flatMap(({ role, content }) =>
        role === 'tool' ? content.map((part) => ('output' in part ? part.output : null)) : [],
      ),
    );
    expect(outputs[1]).toEqual(outputs[0]);
    clock.advance(101);
    const third = await resultOf(agent, { clock });
    expect([seen.runs, third.counters.cacheHits]).toEqual([2, 0]);
  });

  it('C-9a: calls with the same key that run at once are one, over all sessions', async () => {
    const held = Promise.withResolvers<string>();
    const { agent, seen } = looking({ ttlMs: 60_000 }, [{ at: 'a' }, { at: 'a' }, { at: 'b' }], (n) =>
      held.promise.then((text) => `${text} ${n}`),
    );
    const sessions = [resultOf(agent), resultOf(agent), resultOf(agent)];
    while (seen.runs < 2) await new Promise(setImmediate);
    held.resolve('seen');
    const ended = await Promise.all(sessions);
    expect(seen.runs).toBe(2);
    expect(ended.reduce((sum, { counters }) => sum + counters.cacheHits, 0)).toBe(9 - 2);
  });

  it('C-9a: a failure is kept by nobody', async () => {
    const { agent, seen } = looking({ ttlMs: 60_000 }, [{ at: 'a' }, { at: 'a' }], (n) => {
      if (n === 1) throw new Error('away');
      return 'seen';
    });
    const result = await resultOf(agent);
    expect([seen.runs, result.counters.toolCalls.failed, result.counters.toolCalls.succeeded]).toEqual([2, 1, 1]);
  });

  it('C-9b: nothing in a session with a context, unless a key says what a value belongs to', async () => {
    const run = async (cache: ToolCache) => {
      const { agent, seen } = looking(cache, [{ at: 'a' }]);
      for (const user of ['ann', 'ann', 'bob']) await resultOf(agent, { context: { user } });
      return seen.runs;
    };
    expect(await run({ ttlMs: 60_000 })).toBe(3);
    const key = (input: unknown, context: unknown) => JSON.stringify([input, context]);
    expect(await run({ ttlMs: 60_000, key })).toBe(2);
    expect(await run({ ttlMs: 60_000, key: () => 'one' })).toBe(1);
  });

  it('in a file of SQLite, for other processes too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-cache-'));
    const stores = [1, 2].map(() => sqliteCache(join(folder, 'cache.db')));
    const runs: number[] = [];
    const said: unknown[] = [];
    for (const store of stores) {
      const { agent, seen } = looking({ ttlMs: 60_000, store }, [{ at: 'a' }], () => ({
        shelf: 'J-12',
        seen: [1, null],
      }));
      const result = await resultOf(agent);
      runs.push(seen.runs);
      said.push(result.conversation);
    }
    expect(runs).toEqual([1, 0]);
    expect(JSON.stringify(said[1])).toContain('J-12');
    expect(said[1]).toEqual(said[0]);
    for (const store of stores) store.close();
    rmSync(folder, { recursive: true });
  });

  it.each<[string, unknown, string]>([
    ['no time', {}, '`tools.look.cache.ttlMs`'],
    ['an unknown field', { ttlMs: 1, tll: 2 }, 'Unknown option `tools.look.cache.tll`'],
    ['a store without methods', { ttlMs: 1, store: {} }, '`tools.look.cache.store` must be a store: { get, set }'],
  ])('bad input is told when the agent is defined: %s', (_, cache, message) =>
    expect(() => looking(cache as ToolCache, [])).toThrow(message),
  );
});

describe('C-8: a queue of calls', () => {
  it('runs so many at once, over all sessions and agents of the process, and those that wait are not late', async () => {
    const seen = { open: 0, most: 0 };
    const held: (() => void)[] = [];
    const browse = Object.assign(
      async () => {
        seen.open += 1;
        seen.most = Math.max(seen.most, seen.open);
        await new Promise<void>((resolve) => held.push(resolve));
        seen.open -= 1;
        return 'a page';
      },
      { queue: 'browser', timeoutMs: 30_000 },
    );
    const make = (name: string) =>
      defineAgent({
        name,
        queues: { browser: 2 },
        models: [
          rehearsalModel(({ prompt }) =>
            JSON.stringify(prompt).includes('tool-result')
              ? report
              : { calls: [1, 2].map((page) => ({ name: 'browse', input: { page } })) },
          ),
        ],
        tools: { browse },
      });
    const sessions = ['one', 'two', 'three'].map((name) => resultOf(make(name)));
    for (let ended = 0; ended < 6; ended += 1) {
      while (held.length === 0) await new Promise(setImmediate);
      held.shift()?.();
    }
    for (const { success, counters } of await Promise.all(sessions))
      expect([success, counters.toolCalls.succeeded]).toEqual([true, 2]);
    expect(seen.most).toBe(2);
  });

  it('an agent names its queues', () => {
    const browse = Object.assign(() => 'a page', { queue: 'browser' });
    const agent = (queues?: Record<string, number>) =>
      defineAgent({ name: 'one', models: [rehearsalModel([{}])], tools: { browse }, ...(queues && { queues }) });
    expect(() => agent()).toThrow('`tools.browse.queue` must be one of the agent\'s queues (none); got "browser".');
    expect(() => agent({ browser: 0 })).toThrow('`queues.browser` must be an integer of at least 1; got 0.');
    expect(agent({ browser: 1 }).name).toBe('one');
  });
});
