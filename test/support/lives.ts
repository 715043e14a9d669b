import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  type Journal,
  resumeSession,
  type Session,
  type SessionEvent,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { assertInvariants, startModelServer } from '../../src/testing/index.ts';
import { dyingJournal } from './dying-journal.ts';
import { effectsIn, everyStep, steppingAgent } from './every-step.ts';
import { keptLog } from './session.ts';

export type Death = { at: number; when: 'before' | 'after' };

/** Lives the session of every step to its end, in one life more than there are deaths. */
export async function livesOf(deaths: readonly Death[]) {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-lives-'));
  const file = join(folder, 'effects');
  writeFileSync(file, '');
  await using server = await startModelServer(everyStep());
  const agent = steppingAgent(server.url, file);
  const journal = sqliteJournal(join(folder, 'pawl.db'));
  const { lines, logger } = keptLog();
  const events: SessionEvent[] = [];
  const live = async (own: Journal): Promise<Session> => {
    let session: Session | null = null;
    const approve = (callId: string) => session?.approve(callId, { approved: true });
    let early: string | null = null;
    const onEvent = (event: SessionEvent) => {
      events.push(event);
      if (event.type !== 'tool.approvalRequested') return;
      early = event.callId;
      queueMicrotask(() => approve(event.callId));
    };
    const options = { journal: own, sessionId: 's', logger, onEvent };
    const begun = (await journal.read('s')).length > 0;
    session = begun ? await resumeSession(agent, options) : startSession(agent, { ...options, prompt: 'Do it all.' });
    // A resumed session asks again before the caller has it.
    if (early !== null) approve(early);
    return session;
  };
  for (const { at, when } of deaths) {
    const dying = dyingJournal(journal, at, when);
    await Promise.race([dying.died, live(dying.journal).then(({ result }) => result)]);
  }
  const last = dyingJournal(journal, Number.POSITIVE_INFINITY, 'after');
  const session = await live(last.journal);
  const result = await session.result;
  const told: SessionEvent[] = [];
  for await (const event of session.events) told.push(event);
  const [listed] = await journal.list({});
  const entries = await journal.read('s');
  await journal.close();
  const requests = server.requests.length;
  return { result, lines, events, told, effects: effectsIn(file), requests, writes: last.writes(), listed, entries };
}

export type Lives = Awaited<ReturnType<typeof livesOf>>;

export function wasInterrupted({ told }: Lives): boolean {
  return told.some((event) => event.type === 'session.resumed' && event.interrupted.length > 0);
}

/** What holds however often the process died. */
export function check({ result, lines, told, effects, requests, listed }: Lives): void {
  assertInvariants(result, { limits: { maxTurns: 10, maxRetries: 12 } });
  expect(result.report).toMatchObject({ accepted: true, content: 'Everything is done.' });
  expect(requests).toBeLessThanOrEqual(result.counters.tree.requests);
  const once = effects.filter((effect) => !effect.startsWith('read'));
  expect(once).toEqual([...new Set(once)]);
  const failed = told.flatMap((event) =>
    event.type === 'attempt.failed' ? [`${event.sessionId} ${event.turn} ${event.attempt}`] : [],
  );
  const warned = lines.flatMap(({ event, sessionId, turn, attempt }) =>
    event === 'attempt.failed' ? [`${sessionId} ${turn} ${attempt}`] : [],
  );
  expect(warned).toEqual([...new Set(warned)]);
  expect(failed).toEqual(expect.arrayContaining(warned));
  expect(lines.filter(({ level }) => level >= 50)).toEqual([]);
  const seqs = told.map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.toSorted((one, other) => one - other));
  expect(listed).toMatchObject({ sessionId: 's', status: 'succeeded', slugs: [], waiting: [] });
}
