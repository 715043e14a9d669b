import { describe, expect, it } from 'vitest';
import { defineAgent, resumeSession, sharedBudget, sqliteJournal, startSession } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { until } from '../support/journaled.ts';

const quiet = { logger: false } as const;
const reportOf = (content: string) => ({ calls: [{ name: 'final_report', input: { content } }] });
const mustReport = (prompt: readonly unknown[]) =>
  /only the final report|call final_report now/i.test(JSON.stringify(prompt.at(-1)));

describe('B-8: a session that leaves while its request waits for the budget, or for its turn', () => {
  const replies = rehearsalModel(({ prompt }) =>
    JSON.stringify(prompt).includes('first task') && !mustReport(prompt) ? { text: '' } : reportOf('done'),
  );

  it.each(['abort', 'suspend'] as const)('%s: at once, at whatever moment it comes', async (how) => {
    const journal = sqliteJournal(':memory:');
    const budget = sharedBudget({ requests: 2, journal, name: 'held' });
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const holding = rehearsalModel(async () => {
      await held;
      return reportOf('done');
    });
    const agent = defineAgent({ name: 'waits', models: [holding] });
    const given = { journal, sharedBudget: budget, ...quiet };
    const holder = startSession(agent, { prompt: 'hold', ...given });
    await until(() => holding.requests.length === 1);
    for (let microtasks = 0; microtasks < 30; microtasks += 1) {
      const session = startSession(agent, { prompt: 'wait', ...given });
      for await (const event of session.events) if (event.type === 'admission.requested') break;
      for (let taken = 0; taken < microtasks; taken += 1) await null;
      if (how === 'abort') session.abort();
      else await session.suspend({ graceMs: Number.POSITIVE_INFINITY });
      const result = await session.result;
      assertInvariants(result);
      expect(result).toMatchObject({ status: how === 'abort' ? 'aborted' : 'suspended', counters: { requests: 0 } });
    }
    letGo();
    expect((await holder.result).status).toBe('succeeded');
    expect(await budget.spent()).toMatchObject({ requests: 1 });
    await journal.close();
  });

  it.each(['admission.requested', 'admission.ended'])(
    'suspended at %s, others take no more than is left',
    async (at) => {
      const journal = sqliteJournal(':memory:');
      const budget = sharedBudget({ requests: 2, journal, name: at });
      const agent = defineAgent({ name: 'leaves', models: [replies], limits: { maxTurns: 3, maxRetries: 2 } });
      const given = { journal, sharedBudget: budget, ...quiet };
      const before = replies.requests.length;
      const first = startSession(agent, {
        prompt: 'first task',
        ...given,
        onEvent: ({ type }) => void (type === at && first.suspend()),
      });
      expect((await first.result).status).toBe('suspended');
      expect(replies.requests).toHaveLength(before);
      const other = await startSession(agent, { prompt: 'other task', ...given }).result;
      const resumed = await (await resumeSession(agent, { journal, sessionId: first.sessionId, ...quiet })).result;
      for (const one of [other, resumed]) assertInvariants(one);
      const sent = replies.requests.length - before;
      expect(sent).toBe(other.counters.requests + resumed.counters.requests);
      expect(sent).toBeLessThanOrEqual(2);
      expect(await budget.spent()).toMatchObject({ requests: sent });
      await journal.close();
    },
  );
});
