import { describe, expect, it } from 'vitest';
import {
  type Append,
  type Journal,
  PawlError,
  runSession,
  type SessionEvent,
  sharedBudget as sharedBudgetOf,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { memoryBudgets } from '../../src/shared/budget-store.ts';
import { assertInvariants } from '../../src/testing/index.ts';
import { dyingJournal, journalWith } from '../support/dying-journal.ts';
import { quiet, workingAgent } from '../support/journaled.ts';
import { keptLog } from '../support/session.ts';

/** A journal whose server goes away at the end of a session, before the write or after it, and comes back. */
function goingAway(journal: Journal, { isDone }: { isDone: boolean }) {
  let isAway = false;
  const lost = () => Promise.reject(new PawlError('journal_failed', 'The server is away.'));
  const tries: Append[] = [];
  return {
    tries,
    comesBack: () => {
      isAway = false;
    },
    journal: journalWith(journal, {
      append: async (sessionId, append) => {
        if (append.change?.status !== undefined) {
          tries.push(append);
          isAway ||= tries.length === 1;
          if (isAway && isDone && tries.length === 1) await journal.append(sessionId, append);
        }
        return isAway ? lost() : journal.append(sessionId, append);
      },
      renew: (...given) => (isAway ? lost() : journal.renew(...given)),
      release: (...given) => (isAway ? lost() : journal.release(...given)),
    }),
  };
}

it('D-3h: wherever a process dies, a session whose end is written is listed as ended', async () => {
  const listed: string[] = [];
  for (let at = 1; listed.at(-1) !== 'succeeded' || at < 3; at += 1) {
    const kept = sqliteJournal(':memory:', { leaseMs: 20 });
    const dying = dyingJournal(kept, at, 'after');
    const { budgets = memoryBudgets() } = kept;
    let looks = 0;
    // A store that takes its time: meanwhile the log looks at its journal, and writes the facts of the end.
    const put: typeof budgets.put = async (...given) => {
      const until = looks + 2;
      while (looks < until) await new Promise(setImmediate);
      return budgets.put(...given);
    };
    const { inbox } = dying.journal;
    Object.assign(dying.journal, {
      budgets: { ...budgets, put },
      inbox: (sessionId: string) => {
        looks += 1;
        return inbox(sessionId);
      },
    });
    const sharedBudget = sharedBudgetOf({ requests: 9, journal: dying.journal, name: 'b' });
    const session = startSession(workingAgent().agent, {
      ...{ ...quiet(dying.journal), sessionId: 's', prompt: 'Go.', sharedBudget },
    });
    await Promise.race([dying.died, session.result]);
    const hasEnd = (await kept.read('s')).some(
      (entry) => entry.type === 'stepped' && entry.facts.some(({ type }) => type === 'session.succeeded'),
    );
    const [row] = await kept.list({});
    expect([at, row?.status]).toEqual([at, hasEnd ? 'succeeded' : 'suspended']);
    listed.push(row?.status ?? '');
    await kept.close();
  }
  expect(listed.filter((status) => status === 'succeeded')).toHaveLength(1);
});

describe('D-5c: an end that could not be written', () => {
  it.each([{ isDone: false }, { isDone: true }])('is written when the journal is back: %j', async (how) => {
    const kept = sqliteJournal(':memory:');
    const server = goingAway(kept, how);
    const events: SessionEvent[] = [];
    const { lines, logger } = keptLog();
    const result = await runSession(workingAgent().agent, {
      ...{ prompt: 'Go.', journal: server.journal, sessionId: 's', logger },
      onEvent: (event) => void events.push(event),
    });
    assertInvariants(result);
    expect([result.status, result.counters.turns]).toEqual(['succeeded', 2]);
    expect(events.filter(({ type }) => type === 'observer.failed')).toMatchObject([
      { observer: 'journal', message: 'The server is away.' },
    ]);
    expect(lines.filter(({ level }) => level > 30)).toEqual([]);
    await expect.poll(() => server.tries.length, { timeout: 5_000 }).toBeGreaterThan(1);
    server.comesBack();
    await expect.poll(async () => (await kept.list({}))[0]?.status, { timeout: 5_000 }).toBe('succeeded');
    const ends = (await kept.read('s')).filter(
      (entry) => entry.type === 'stepped' && entry.facts.some(({ type }) => type === 'session.succeeded'),
    );
    expect(ends).toHaveLength(1);
    expect(new Set(server.tries.map(({ after }) => after)).size).toBe(1);
    await kept.close();
  });

  it('is not written once another process has the session, or the journal is closed', async () => {
    const kept = sqliteJournal(':memory:');
    const server = goingAway(kept, { isDone: false });
    await runSession(workingAgent().agent, { ...quiet(server.journal), sessionId: 's', prompt: 'Go.' });
    const [row] = await kept.list({});
    expect(row?.status).toBe('running');
    // The other process goes on from what is there.
    const owner = server.tries[0]?.owner ?? '';
    await kept.release('s', owner);
    expect(await kept.lease('s', 'other')).toBe(true);
    server.comesBack();
    const before = server.tries.length;
    await expect.poll(() => server.tries.length, { timeout: 5_000 }).toBe(before + 1);
    expect(await kept.read('s')).toHaveLength(row?.entries ?? 0);
    expect(await kept.list({})).toMatchObject([{ status: 'running' }]);
    await kept.close();
  });
});
