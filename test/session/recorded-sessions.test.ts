import { describe, expect, it } from 'vitest';
import {
  type Agent,
  defineAgent,
  type Journal,
  type JournalEntry,
  replaySession,
  resumeSession,
  runSession,
  type Session,
  type SessionEvent,
  startSession,
} from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { assertInvariants, manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { dyingJournal, journalWith } from '../support/dying-journal.ts';
import { quiet, workingAgent } from '../support/journaled.ts';
import { ScriptedServer } from '../support/scripted-server.ts';
import { report } from '../support/session.ts';

/** An agent whose sub-agent calls a tool. */
function above(over: Partial<Parameters<typeof defineAgent>[0]> = {}): Agent {
  const { agent: helper } = workingAgent({ name: 'helping' });
  const model = rehearsalModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool')
      ? report()
      : { calls: [{ name: 'helper', input: { prompt: 'Help.', reason: 'Long.' } }] },
  );
  return defineAgent({ name: 'above', models: [model], agents: { helper }, ...over });
}

async function eventsOf(session: Session): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of session.events) events.push(event);
  return events;
}

/** What a journal held when the first entry that `is` true of was in it. */
async function heldUntil(journal: Journal, is: (entry: JournalEntry) => boolean): Promise<Journal> {
  const entries = await journal.read('s');
  const held = entries.slice(0, entries.findIndex(is) + 1);
  expect(held.length).toBeGreaterThan(0);
  return journalWith(journal, {
    read: async () => [...held],
    lease: async () => true,
    renew: async () => true,
    append: async () => {},
  });
}

describe('D-3: a replay', () => {
  it.each([4, 7, 10, 12])(
    'gives the events that listeners received, at their positions, also after a crash at write %i',
    async (at) => {
      const journal = new MemoryJournal();
      const clock = manualClock();
      const dying = dyingJournal(journal, at, 'after');
      void startSession(above(), { prompt: 'Go.', ...quiet(dying.journal), clock });
      await dying.died;
      clock.advance(5_000);
      // Its next life ends early, too.
      const second = dyingJournal(journal, 2, 'after');
      void resumeSession(above(), { ...quiet(second.journal), clock });
      await second.died;
      clock.advance(5_000);
      const session = await resumeSession(above(), { ...quiet(journal), clock });
      const heard = await eventsOf(session);
      const { counters } = await session.result;
      expect(heard.some(({ path }) => path[0] === 'helper')).toBe(true);
      expect(heard.findLast(({ type }) => type === 'session.resumed')?.seq).toBeGreaterThan(2 ** 33);
      const { events, ...told } = await replaySession(journal, 's');
      expect(events).toEqual(heard);
      expect(told.counters).toEqual(counters);
    },
  );

  it('keeps the order of what a listener brought about amid a step', async () => {
    const journal = new MemoryJournal();
    const { agent } = workingAgent();
    const onEvent = ({ type }: SessionEvent) => {
      if (type === 'turn.started') throw new Error('no pager');
    };
    const heard = await eventsOf(startSession(agent, { prompt: 'Go.', ...quiet(journal), onEvent }));
    const types = heard.map(({ type }) => type);
    expect(types[types.indexOf('observer.failed') + 1]).toBe('attempt.started');
    expect((await replaySession(journal, 's')).events).toEqual(heard);
    expect(await eventsOf(await resumeSession(agent, quiet(journal)))).toEqual(heard);
  });

  it('names the cause of each step: the type of a command, or the effect that ended', async () => {
    const journal = new MemoryJournal();
    const { agent } = workingAgent();
    const session = startSession(agent, {
      prompt: 'Go.',
      ...quiet(journal),
      onEvent: (event) => {
        if (event.type === 'tool.answered' && event.name === 'work') session.stop();
      },
    });
    await session.result;
    const { steps } = await replaySession(journal, 's');
    expect(steps.map(({ cause }) => cause)).toEqual([
      'start',
      'prepare',
      'turn-1/attempt-1/model',
      'turn-1/attempt-1/tool-0',
      'session.stop',
      'turn-2/attempt-1/model',
      'close',
    ]);
  });

  it('gives the notice and the tools of each request, while a deadline is waited for', async () => {
    const journal = new MemoryJournal();
    const model = rehearsalModel([{ text: 'I have nothing to say.' }, report()]);
    const agent = defineAgent({ name: 'talking', models: [model] });
    const budget = { wallClockMs: 60_000 };
    const { counters } = await runSession(agent, { prompt: 'Go.', ...quiet(journal), clock: manualClock(), budget });
    expect(counters.requests).toBe(2);
    const { requests } = await replaySession(journal, 's');
    expect(requests.map(({ notice }) => notice)).toEqual([null, model.requests[1]?.notice]);
    expect(requests[1]?.notice).toContain('text_only');
    const { requests: first, pending } = await replaySession(journal, 's', { until: 'turn-1' });
    expect(pending).toEqual(['deadline', 'turn-1/attempt-1/model']);
    for (const { tools } of [...first, ...requests]) expect(tools.map(({ name }) => name)).toEqual(['final_report']);
    expect(first).toHaveLength(1);
  });
});

describe('D-4: a session that is resumed', () => {
  it('does not report the end of a sub-agent twice, or run it again', async () => {
    const journal = new MemoryJournal();
    await runSession(above(), { prompt: 'Go.', ...quiet(journal) });
    const held = await heldUntil(
      journal,
      (entry) => entry.type === 'sighted' && entry.sighting.type === 'subAgent.ended',
    );
    const session = await resumeSession(above(), quiet(held));
    const heard = await eventsOf(session);
    const result = await session.result;
    assertInvariants(result);
    expect(result.counters.tree).toMatchObject({ sessions: 2, requests: 4 });
    expect(heard.filter(({ type, path }) => type === 'subAgent.ended' && path.length === 0)).toHaveLength(1);
    expect(heard.filter(({ type, path }) => type === 'session.resumed' && path.length === 0)).toHaveLength(1);
  });
});

describe('D-5: a suspension', () => {
  it.each([true, false])('waits for servers that are being closed (with idle sub-agents: %s)', async (has) => {
    const closing = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    class SlowToClose extends ScriptedServer {
      override async close() {
        closing.resolve();
        await closed.promise;
        await super.close();
      }
    }
    const transport = new SlowToClose();
    const over = { models: [rehearsalModel([report()])], mcpServers: { docs: { transport } } };
    const agent = above({ ...over, ...(!has && { agents: {} }) });
    const session = startSession(agent, { prompt: 'Go.', ...quiet(new MemoryJournal()) });
    await closing.promise;
    let isSuspended = false;
    const suspended = session.suspend().then(() => {
      isSuspended = true;
    });
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect([isSuspended, transport.closed]).toEqual([false, 0]);
    closed.resolve();
    await suspended;
    expect(transport.closed).toBe(1);
    const result = await session.result;
    assertInvariants(result);
    expect(result.status).toBe('succeeded');
  });
});
