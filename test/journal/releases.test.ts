import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defineAgent, replaySession, resumeSession, sqliteJournal } from '../../src/index.ts';
import { readTape } from '../../src/journal/tape.ts';
import { lastingAgent } from '../support/lasting-agent.ts';

const folder = 'test/journal/releases';
const releases = readdirSync(folder);

it.each(releases)('D-6: the journals of release %s are read, replayed and resumed', async (release) => {
  const journal = sqliteJournal(':memory:');
  for (const sessionId of ['asking', 'ended']) {
    const entries = readTape(readFileSync(join(folder, release, `${sessionId}.jsonl`), 'utf8'));
    await journal.create({ sessionId, agent: 'lasting', metadata: {} }, { owner: 'it', entries });
    await journal.release(sessionId, 'it');
    const { difference, requests, counters } = await replaySession(journal, sessionId);
    expect([sessionId, difference]).toEqual([sessionId, null]);
    expect(requests.length).toBeGreaterThan(2);
    const waits: string[] = [];
    const { agent, done } = lastingAgent({ defineAgent });
    const session = await resumeSession(agent, {
      journal,
      sessionId,
      logger: false,
      onEvent: (event) => void (event.type === 'tool.approvalRequested' && waits.push(event.callId)),
    });
    expect(waits).toHaveLength(sessionId === 'asking' ? 1 : 0);
    for (const callId of waits) session.approve(callId, { approved: true });
    const result = await session.result;
    expect([result.status, done]).toEqual(['succeeded', sessionId === 'asking' ? ['one', 'asked'] : []]);
    if (sessionId === 'ended') expect(result.counters).toEqual(counters);
  }
  await journal.close();
});
