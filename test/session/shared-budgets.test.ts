import { describe, expect, it } from 'vitest';
import {
  type Agent,
  type AgentDefinition,
  defineAgent,
  resumeSession,
  type SessionResult,
  sharedBudget,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { until } from '../support/journaled.ts';

const quiet = { logger: false } as const;
const price = { input: 1, output: 10 };
const usage = { input: 1_000, output: 100 };
/** What a request costs, in US dollars: a thousand tokens in and a hundred out. */
const costUsd = 0.002;

const reportOf = (content: string) => ({ calls: [{ name: 'final_report', input: { content } }] });
const mustReport = (prompt: readonly unknown[]) =>
  /only the final report|call final_report now/i.test(JSON.stringify(prompt.at(-1)));

/** An agent that looks twice and reports; each request takes some turns of the event loop. */
function workers(definition: Partial<AgentDefinition> = {}) {
  const model = rehearsalModel(async ({ prompt, tools = [] }) => {
    await new Promise(setImmediate);
    const looked = JSON.stringify(prompt).split('"tool-result"').length - 1;
    const calls =
      looked >= 2 || mustReport(prompt) || tools.length === 1
        ? [{ name: 'final_report', input: { content: 'done' } }]
        : [{ name: 'look', input: {} }];
    return { usage, calls };
  });
  const agent = defineAgent({
    name: 'worker',
    models: [model],
    tools: { look: () => 'seen' },
    pricing: { 'rehearsal:script': price },
    ...definition,
  });
  return { agent, model };
}

const spentBy = (all: readonly SessionResult[]) => all.reduce((sum, { counters }) => sum + (counters.costUsd ?? 0), 0);

async function runAll(agent: Agent, count: number, budget: ReturnType<typeof sharedBudget>) {
  const sessions = Array.from({ length: count }, (_, index) =>
    startSession(agent, { prompt: `Do ${index}.`, sharedBudget: budget, ...quiet }),
  );
  const all = await Promise.all(sessions.map(({ result }) => result));
  for (const one of all) assertInvariants(one);
  return all;
}

describe('B-8: a budget that sessions share', () => {
  it('in US dollars: it is not overspent by more than a request for each that runs, and says what was spent', async () => {
    const { agent } = workers();
    const budget = sharedBudget({ costUsd: 0.05 });
    const all = await runAll(agent, 20, budget);
    const spent = spentBy(all);
    expect(spent).toBeGreaterThan(0.04);
    expect(spent).toBeLessThanOrEqual(0.05 + 20 * costUsd);
    expect((await budget.spent()).costUsd).toBeCloseTo(spent, 9);
    const statuses = all.map(({ status, slugs, counters }) => [status, slugs[0] ?? null, counters.requests > 0]);
    // B-8b: whoever has begun reports, and whoever has not has sent nothing.
    for (const [status, slug, hasSent] of statuses)
      expect([status, slug, hasSent]).toEqual(
        hasSent ? ['succeeded', null, true] : ['failed', 'budget_exhausted', false],
      );
    expect(new Set(statuses.map(([status]) => status)).size).toBe(2);
  });

  it('in requests, exactly, and in tokens', async () => {
    const { agent, model } = workers();
    const all = await runAll(agent, 10, sharedBudget({ requests: 13 }));
    expect(model.requests.length).toBeLessThanOrEqual(13);
    expect(model.requests.length).toBeGreaterThanOrEqual(12);
    expect(all.reduce((sum, { counters }) => sum + counters.requests, 0)).toBe(model.requests.length);
    const few = await runAll(agent, 10, sharedBudget({ tokens: 12_000 }));
    const tokens = few.reduce((sum, { counters }) => sum + counters.tokens.input + counters.tokens.output, 0);
    expect(tokens).toBeLessThanOrEqual(12_000 + 10 * 1_100);
    expect(tokens).toBeGreaterThan(9_000);
  });

  it('B-8c: what one gives back, another that waits can use', async () => {
    const { agent } = workers();
    // Each sets aside two requests, and only five are there.
    const all = await runAll(agent, 3, sharedBudget({ requests: 9 }));
    expect(all.filter(({ status }) => status === 'succeeded').length).toBeGreaterThanOrEqual(2);
    expect(all.reduce((sum, { counters }) => sum + counters.requests, 0)).toBeLessThanOrEqual(9);
  });

  it('sub-agents draw on it too', async () => {
    const { agent: child } = workers({ name: 'child' });
    const boss = defineAgent({
      name: 'boss',
      agents: { child },
      pricing: { 'rehearsal:script': price },
      models: [
        rehearsalModel(({ prompt }) => {
          const asked = JSON.stringify(prompt).includes('tool-result');
          const task = { prompt: 'Look.', reason: 'To see.' };
          return {
            usage,
            calls: asked
              ? [{ name: 'final_report', input: { content: 'done' } }]
              : [1, 2, 3].map(() => ({ name: 'child', input: task })),
          };
        }),
      ],
    });
    const budget = sharedBudget({ requests: 8 });
    const [result] = await runAll(boss, 1, budget);
    expect(result?.counters.tree.requests).toBeLessThanOrEqual(8);
    expect((await budget.spent()).requests).toBe(result?.counters.tree.requests);
  });

  it.each([
    [1, 1],
    [2, 2],
    [3, 3],
    [9, 3],
  ])('a tree never waits for itself: of %i requests, it sends %i', async (requests, sent) => {
    const child = defineAgent({ name: 'child', models: [rehearsalModel([reportOf('from below')])] });
    const outer = rehearsalModel(({ prompt, tools = [] }) =>
      JSON.stringify(prompt).includes('tool-result') || tools.length === 1 || mustReport(prompt)
        ? reportOf('done')
        : { calls: [{ name: 'child', input: { prompt: 'Do it.', reason: 'It can.' } }] },
    );
    const agent = defineAgent({ name: 'above', models: [outer], agents: { child } });
    const budget = sharedBudget({ requests });
    const result = await startSession(agent, { prompt: 'Go.', sharedBudget: budget, ...quiet }).result;
    assertInvariants(result);
    expect([result.status, (await budget.spent()).requests]).toEqual(['succeeded', sent]);
  });

  it.each(['abort', 'suspend'] as const)(
    'what an %s cuts off is counted once, and no session waits for it',
    async (how) => {
      const held: (() => void)[] = [];
      let isHeld = true;
      const model = rehearsalModel(async () => {
        if (isHeld) await new Promise<void>((resolve) => void held.push(resolve));
        return reportOf('done');
      });
      const agent = defineAgent({ name: 'cut', models: [model] });
      const journal = sqliteJournal(':memory:');
      const budget = sharedBudget({ requests: 4, journal, name: 'all' });
      const options = { prompt: 'Go.', sharedBudget: budget, journal, ...quiet };
      const session = startSession(agent, options);
      await until(() => held.length === 1);
      if (how === 'abort') session.abort();
      else await session.suspend({ graceMs: 0 });
      await session.result;
      expect((await budget.spent()).requests).toBe(1);
      isHeld = false;
      held[0]?.();
      const others: string[] = [];
      for (let count = 0; count < 4; count += 1) others.push((await startSession(agent, options).result).status);
      // One that is suspended keeps a request for its report.
      const left = how === 'abort' ? 3 : 2;
      expect(others).toEqual([...Array(left).fill('succeeded'), ...Array(4 - left).fill('failed')]);
      expect((await budget.spent()).requests).toBe(1 + left);
      await journal.close();
    },
  );

  it('B-8d: in a journal, it holds for another process, and for a session that is resumed', async () => {
    const journal = sqliteJournal(':memory:');
    const { agent, model } = workers({
      tools: { look: () => new Promise((resolve) => setTimeout(resolve, 5, 'seen')) },
    });
    const budget = sharedBudget({ requests: 4, journal, name: 'nightly' });
    const session = startSession(agent, { prompt: 'Do it.', sharedBudget: budget, journal, ...quiet });
    await until(() => model.requests.length === 1);
    await session.suspend();
    expect((await budget.spent()).requests).toBe(model.requests.length);
    const resumed = await resumeSession(agent, { journal, sessionId: session.sessionId, ...quiet });
    const result = await resumed.result;
    expect(result).toMatchObject({ status: 'succeeded', counters: { requests: 3, admissions: 3 } });
    // The same name is the same budget.
    const again = sharedBudget({ requests: 4, journal, name: 'nightly' });
    expect(await again.spent()).toMatchObject({ requests: 3, tokens: 3_300 });
    const last = await startSession(agent, { prompt: 'Do it.', sharedBudget: again, journal, ...quiet }).result;
    expect(last.counters.requests).toBe(1);
    await journal.close();
  });

  it('B-8a: what was set aside for a request that never went out comes back', async () => {
    const held: (() => void)[] = [];
    const model = rehearsalModel(async () => {
      await new Promise<void>((resolve) => held.push(resolve));
      return { usage, calls: [{ name: 'final_report', input: { content: 'done' } }] };
    });
    const agent = defineAgent({ name: 'gated', models: [{ model, limits: { concurrency: 1 } }] });
    const budget = sharedBudget({ requests: 4 });
    const start = () => startSession(agent, { prompt: 'Go.', sharedBudget: budget, ...quiet });
    const first = start();
    await until(() => held.length === 1);
    const second = start();
    await until(() => second.counters.admissions === 1);
    second.abort();
    expect((await second.result).counters.requests).toBe(0);
    held.shift()?.();
    assertInvariants(await first.result);
    expect(await budget.spent()).toEqual({ requests: 1, tokens: 1_100, costUsd: 0 });
  });

  it('B-8b: what is kept for the report of a session that was suspended at the last moment is its own', async () => {
    const journal = sqliteJournal(':memory:');
    const held: (() => void)[] = [];
    const model = rehearsalModel(async ({ prompt }) => {
      await new Promise<void>((resolve) => held.push(resolve));
      const reports = mustReport(prompt);
      return { usage, calls: [{ name: reports ? 'final_report' : 'look', input: reports ? { content: 'done' } : {} }] };
    });
    const agent = defineAgent({
      ...{ name: 'gated', models: [{ model, limits: { concurrency: 1 } }], tools: { look: () => 'seen' } },
    });
    const budget = sharedBudget({ requests: 3, journal, name: 'kept' });
    const start = () => startSession(agent, { prompt: 'Go.', sharedBudget: budget, journal, ...quiet });
    const first = start();
    await until(() => held.length === 1);
    const second = start();
    await until(() => second.counters.admissions === 1);
    held.shift()?.();
    // The second is sent; the first asks for its report, and waits.
    await until(() => held.length === 1 && first.counters.admissions === 2);
    await first.suspend();
    held.shift()?.();
    expect(await second.result).toMatchObject({ status: 'succeeded', counters: { requests: 1, admissions: 1 } });
    const third = await start().result;
    expect(third).toMatchObject({ status: 'failed', slugs: ['budget_exhausted'], counters: { requests: 0 } });
    const resumed = await resumeSession(agent, { journal, sessionId: first.sessionId, ...quiet });
    await until(() => held.length === 1);
    held.shift()?.();
    const result = await resumed.result;
    assertInvariants(result);
    expect(result).toMatchObject({ status: 'succeeded', counters: { requests: 2 } });
    expect(await budget.spent()).toMatchObject({ requests: 3, tokens: 3_300 });
    await journal.close();
  });

  it('D-5: a store that is away loses no reply, and suspends a session that asks it', async () => {
    const journal = sqliteJournal(':memory:');
    const { budgets } = journal;
    if (budgets === undefined) throw new Error('it keeps budgets');
    let isAway = false;
    const put = budgets.put.bind(budgets);
    Object.assign(budgets, {
      put: (...given: Parameters<typeof put>) => (isAway ? Promise.reject(new Error('away')) : put(...given)),
    });
    const model = rehearsalModel(({ prompt }) => {
      const looked = JSON.stringify(prompt).includes('tool-result');
      isAway = !looked;
      return {
        usage,
        calls: [looked ? { name: 'final_report', input: { content: 'done' } } : { name: 'look', input: {} }],
      };
    });
    const agent = defineAgent({ name: 'away', models: [model], tools: { look: () => 'seen' } });
    const budget = sharedBudget({ requests: 9, journal, name: 'kept' });
    const session = startSession(agent, { prompt: 'Go.', sharedBudget: budget, journal, ...quiet });
    const result = await session.result;
    expect(result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
    expect(result.counters).toMatchObject({ requests: 1, failedAttempts: 0, toolCalls: { succeeded: 1 } });
    isAway = false;
    const resumed = await (await resumeSession(agent, { journal, sessionId: session.sessionId, ...quiet })).result;
    expect(resumed).toMatchObject({ status: 'succeeded', counters: { requests: 2 } });
    expect(await budget.spent()).toMatchObject({ requests: 2, tokens: 2_200 });
    await journal.close();
  });

  it.each<[string, () => unknown, string]>([
    ['no limit', () => sharedBudget({}), 'at least one of'],
    ['a negative one', () => sharedBudget({ tokens: -1 }), '`options.tokens` must be a number above 0; got -1.'],
    ['a journal without a name', () => sharedBudget({ requests: 1, journal: sqliteJournal(':memory:') }), 'a `name`'],
    ['an unknown option', () => sharedBudget({ dollars: 1 } as never), 'Unknown option `options.dollars`.'],
    [
      'no price',
      () => startSession(workers({ pricing: {} }).agent, { prompt: 'Go.', sharedBudget: sharedBudget({ costUsd: 1 }) }),
      '`sharedBudget.costUsd` needs a price',
    ],
    [
      'a budget elsewhere',
      () => {
        const journal = sqliteJournal(':memory:');
        return startSession(workers().agent, { prompt: 'Go.', journal, sharedBudget: sharedBudget({ requests: 1 }) });
      },
      '`sharedBudget` must be kept in the `journal` of the session.',
    ],
    [
      'no budget',
      () => startSession(workers().agent, { prompt: 'Go.', sharedBudget: {} as never }),
      'made by sharedBudget',
    ],
  ])('bad input is told before anything runs: %s', (_, make, message) => expect(make).toThrow(message));
});
