import { afterEach, describe, expect, it } from 'vitest';
import { sessionMachine } from '../../machines/index.ts';
import { readSession, replaySession, resumeSession, runSession, sqliteJournal } from '../../src/index.ts';
import { freshFile, workingAgent } from '../support/journaled.ts';
import { keptLog } from '../support/session.ts';

type Actions = Record<string, unknown>;
const { actions } = sessionMachine.implementations as unknown as { actions: Actions };
const { takeTurn } = actions;
afterEach(() => {
  actions.takeTurn = takeTurn;
});

describe('D-3, S-3: machines that break', () => {
  it('end the session with one ERROR line, and whoever reads, replays or resumes it sees that end', async () => {
    expect(typeof takeTurn).toBe('function');
    actions.takeTurn = () => {
      throw new Error('a defect');
    };
    const journal = sqliteJournal(freshFile());
    const { agent } = workingAgent();
    const { lines, logger } = keptLog();
    const result = await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger });
    expect(result).toMatchObject({ status: 'failed', slugs: ['internal_error'], failure: { detail: 'a defect' } });
    expect(lines.filter(({ level }) => level === 50)).toMatchObject([{ event: 'session.failed' }]);
    const read = await readSession(journal, 's');
    expect(read).toMatchObject({ status: 'failed', slugs: ['internal_error'] });
    for (const { events, counters } of [read, await replaySession(journal, 's')]) {
      expect(events.at(-1)).toMatchObject({ type: 'session.failed', failure: { slugs: ['internal_error'] } });
      expect(counters).toEqual(result.counters);
    }
    const again = await (await resumeSession(agent, { journal, sessionId: 's', logger })).result;
    expect(again).toEqual(result);
    expect(lines.filter(({ level }) => level === 50)).toHaveLength(1);
    await journal.close();
  });
});
