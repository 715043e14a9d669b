import { describe, expect, it } from 'vitest';
import { defineAgent, resultReader, resumeSession, runSession, sqliteJournal, startSession } from '../../src/index.ts';
import { assertInvariants, type RehearsalModel, rehearsalModel } from '../../src/testing/index.ts';
import { freshFile, until } from '../support/journaled.ts';

const contextWindow = 60_000;
const megabytes = 5;
const lines = Array.from({ length: megabytes * 10_000 }, (_, index) => `row ${index} `.padEnd(99, '.'));
/** Where the answer stands, in two places far apart. */
lines[17_001] = 'the first key is PELICAN';
lines[48_500] = 'the second key is QUARTZ';
const table = lines.join('\n');

type Prompt = Parameters<Extract<Parameters<typeof rehearsalModel>[0], (call: never) => unknown>>[0]['prompt'];
const said = (prompt: Prompt) => JSON.stringify(prompt);

/** Reads page by page: notes the page before, and reads the next; reports what is noted after the last. */
function reader(gate: (page: number) => Promise<void> = async () => {}) {
  const sizes: number[] = [];
  const model = rehearsalModel(async ({ prompt }) => {
    const all = said(prompt);
    sizes.push(Math.ceil(all.length / 4));
    const pages = [...all.matchAll(/\[page (\d+) of (\d+) of ([\w.-]+)\]/g)];
    const last = pages.at(-1);
    const id = /result ([\w.-]+\d)/.exec(all)?.[1] ?? 'none';
    if (last === undefined) return { calls: [{ name: 'read_result', input: { id, page: 1 } }] };
    const [, page = '', of = ''] = last;
    await gate(Number(page));
    const text = all.slice(last.index);
    const found = [.../the \w+ key is [A-Z]+/g[Symbol.matchAll](text)].map(([key]) => key).join('; ');
    const note = { name: 'note', input: { page: Number(page), found } };
    if (page !== of) return { calls: [note, { name: 'read_result', input: { id, page: Number(page) + 1 } }] };
    const noted = new Set([...all.matchAll(/the \w+ key is [A-Z]+/g)].map(([key]) => key));
    return { calls: [{ name: 'final_report', input: { content: [...noted].join(' and ') } }] };
  });
  return { sizes, model };
}

function asking(reads: RehearsalModel, options: Partial<Parameters<typeof resultReader>[0]> = {}) {
  const outer = rehearsalModel(({ prompt }) => {
    const all = said(prompt);
    const id = /id ([\w.-]+\d)/.exec(all)?.[1];
    if (id === undefined) return { calls: [{ name: 'dump', input: {} }] };
    if (all.includes('PELICAN and'))
      return { calls: [{ name: 'final_report', input: { content: 'PELICAN, QUARTZ' } }] };
    const prompt_ = `In result ${id}: which keys are there?`;
    return { calls: [{ name: 'ask_result', input: { prompt: prompt_, reason: 'It is long.' } }] };
  });
  return defineAgent({
    name: 'asker',
    models: [outer],
    tools: { dump: () => table },
    agents: { ask_result: resultReader({ model: reads, contextWindow, ...options }) },
    builtIns: { readResult: true },
    limits: { maxTreeRequests: 400 },
  });
}

describe('B-7e: a sub-agent that reads the results of the session above', () => {
  it(`answers from ${megabytes} MB, and no request is beyond its window`, async () => {
    const { model, sizes } = reader();
    const result = await runSession(asking(model, { maxTurns: 120 }), { prompt: 'Which keys?', logger: false });
    assertInvariants(result);
    expect(result.status).toBe('succeeded');
    expect(JSON.stringify(result.conversation)).toContain('the first key is PELICAN and the second key is QUARTZ');
    expect(sizes.length).toBeGreaterThan(80);
    expect(Math.max(...sizes)).toBeLessThan(contextWindow);
    expect(result.counters.tree.requests).toBe(3 + sizes.length);
  }, 60_000);

  it('D-4: goes on where it was when its process died', async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    let reached = 0;
    const { model, sizes } = reader(async (page) => {
      reached = page;
      if (page === 12) await held;
    });
    const agent = asking(model, { maxTurns: 120 });
    const journal = sqliteJournal(freshFile());
    const session = startSession(agent, { prompt: 'Which keys?', logger: false, journal, sessionId: 's' });
    await until(() => reached === 12);
    await session.suspend({ graceMs: 0 });
    const before = sizes.length;
    letGo();
    const again = await resumeSession(agent, { journal, sessionId: 's', logger: false });
    const result = await again.result;
    expect(result.status).toBe('succeeded');
    expect(JSON.stringify(result.conversation)).toContain('PELICAN and');
    // Nothing that was read is read again, but for what was in flight.
    expect(sizes.length - before).toBeLessThan(100);
    await journal.close();
  }, 60_000);

  it('is bounded: it reports what it has when its turns are used up', async () => {
    const { model } = reader();
    const agent = asking(model, { maxTurns: 5 });
    const result = await runSession(agent, { prompt: 'Which keys?', logger: false, budget: { requests: 40 } });
    assertInvariants(result);
    expect(result.counters.tree.requests).toBeLessThanOrEqual(40);
  });

  it('finds no result that is not kept, and refuses unknown options', async () => {
    const model = rehearsalModel([
      { calls: [{ name: 'read_result', input: { id: 'r9.9.9' } }] },
      { calls: [{ name: 'final_report', input: { content: 'There is none.' } }] },
    ]);
    const result = await runSession(resultReader({ model }), { prompt: 'In r9.9.9: what?', logger: false });
    expect(JSON.stringify(model.requests[1]?.prompt)).toContain('No page 1 of result r9.9.9.');
    expect(result.status).toBe('succeeded');
    expect(() => resultReader({ model, contextWindow: 0 })).toThrow(
      '`options.contextWindow` must be an integer of at least 1000; got 0.',
    );
    expect(() => resultReader({ model, window: 1 } as never)).toThrow('Unknown option');
  });
});
