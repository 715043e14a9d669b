import { expect, it } from 'vitest';
import {
  defineAgent,
  forkSession,
  type Journal,
  replaySession,
  resumeSession,
  type Session,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { MicrostepReplay } from '../../src/inspect/recorded/microstep-replay.ts';
import { ShownRecording } from '../../src/inspect/recorded/shown-recording.ts';
import { firstBreak } from '../../src/inspect/study/first-break.ts';
import { assertInvariants, type RecordedRequest, startModelServer } from '../../src/testing/index.ts';
import { dyingJournal } from '../support/dying-journal.ts';
import { asksForSummary, tokensOfBody } from '../support/long-talk.ts';
import { report, wireModel } from '../support/session.ts';

/** A model without state: it calls `look` with the number after the last that it sees, up to `last`, then reports. */
const looksOn = (last: number) => (request: RecordedRequest) => {
  const usage = { input: tokensOfBody(request), output: 10 };
  const numbers = [...JSON.stringify(request.body.messages).matchAll(/number\W+(\d+)/g)].map(([, digits]) =>
    Number(digits),
  );
  const next = Math.max(0, ...numbers) + 1;
  if (asksForSummary(request)) return { usage, text: `It looked ${next - 1} times.` };
  if (next > last) return { ...report(), usage };
  return { usage, calls: [{ name: 'look', input: { number: next } }] };
};

const agentAt = (url: string) =>
  defineAgent({
    name: 'looking',
    models: [wireModel('openai', url)],
    tools: { look: () => 'word '.repeat(150) },
    compact: { keep: 2 },
    limits: { maxTurns: 30, contextWindow: 3_000 },
  });

/** The bodies, but for the ids that the server makes of the number of its request. */
const bodiesOf = (requests: readonly RecordedRequest[]) =>
  requests.map(({ body }) => JSON.stringify(body).replace(/call_\d+_0/g, 'id'));

it('T-9b B-6 D-4: a session that dies at any write is resumed, and every summary that was asked for counts', async () => {
  await using server = await startModelServer(looksOn(8));
  const agent = agentAt(server.url);
  const calm = sqliteJournal(':memory:');
  const counted = dyingJournal(calm, Number.POSITIVE_INFINITY, 'after');
  const first = await startSession(agent, { prompt: 'Look.', journal: counted.journal, logger: false }).result;
  await calm.close();
  expect(first.counters).toMatchObject({ compactions: 1, summaries: 1 });
  const interrupted = new Set<number>();
  for (let at = 2; at <= counted.writes(); at += 1) {
    for (const when of ['before', 'after'] as const) {
      const sent = server.requests.length;
      const journal = sqliteJournal(':memory:');
      const dying = dyingJournal(journal, at, when);
      const given = { sessionId: 's', logger: false as const };
      const session = startSession(agent, { ...given, prompt: 'Look.', journal: dying.journal });
      await Promise.race([dying.died, session.result]);
      const resumed: Session = await resumeSession(agent, { ...given, journal });
      const result = await resumed.result;
      const own = server.requests.slice(sent);
      expect([at, when, result.status]).toEqual([at, when, 'succeeded']);
      assertInvariants(result, { requests: own.length, limits: agent.limits });
      const asked = own.filter(asksForSummary).length;
      // It may have died after it wrote down that it asks, and before it did.
      expect([asked, asked + 1]).toContain(result.counters.summaries);
      interrupted.add(result.counters.summaries - result.counters.compactions);
      const replayed = await replaySession(journal, 's');
      expect(replayed.difference).toBeNull();
      expect(replayed.conversation).toEqual(result.conversation);
      expect(replayed.counters).toEqual(result.counters);
      await journal.close();
    }
  }
  // Some died while the summary was in flight, and it is not asked for again.
  expect([...interrupted].sort()).toEqual([0, 1]);
});

it('D-3 D-6: a replay and a fork give the same bytes as the session did', async () => {
  await using server = await startModelServer(looksOn(20));
  const agent = agentAt(server.url);
  const journal: Journal = sqliteJournal(':memory:');
  const { sessionId, counters } = await startSession(agent, { prompt: 'Look.', journal, logger: false }).result;
  expect(counters.compactions).toBeGreaterThan(1);
  const bodies = bodiesOf(server.requests);
  const attempts = server.requests.filter((request) => !asksForSummary(request));
  const { requests } = await replaySession(journal, sessionId);
  expect(requests.map(({ messages }) => messages.length)).toEqual(attempts.map(({ body }) => body.messages.length));
  // The page shows each request with the messages that it had.
  const shown = new ShownRecording();
  shown.takePart(new MicrostepReplay().play(await journal.read(sessionId)));
  expect(shown.requests.map((request) => shown.messagesOf(request))).toEqual(requests.map(({ messages }) => messages));
  expect(firstBreak(shown)).toBeNull();
  for (const turn of [5, 12, 20]) {
    const before = server.requests.length;
    const forkId = await forkSession(journal, sessionId, { at: `turn-${turn}` });
    const fork = await resumeSession(agent, { journal, sessionId: forkId, logger: false });
    await fork.result;
    const again = bodiesOf(server.requests.slice(before));
    expect(again).toEqual(bodies.slice(bodies.length - again.length));
    expect(again.length).toBeGreaterThan(0);
  }
  await journal.close();
});
