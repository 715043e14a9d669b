import { tool } from 'ai';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, runSession } from '../../src/index.ts';
import { arrowName, guardName, guardText } from '../../src/inspect/recorded/arrow-names.ts';
import { MicrostepReplay, partEnd } from '../../src/inspect/recorded/microstep-replay.ts';
import type { RecordingPart } from '../../src/inspect/recorded/recording-data.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { manualClock, type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

const read = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => `found ${q}` });

async function entriesOf(replies: RehearsedReply[], tools = {}): Promise<JournalEntry[]> {
  const journal = new MemoryJournal();
  const agent = defineAgent({ name: 'lead', models: [rehearsalModel(replies)], tools });
  const [clock, random] = [manualClock(), () => 0.5];
  await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false, clock, random });
  return JSON.parse(JSON.stringify(await journal.read('s')));
}

describe('S-8: the steps of a recorded session', () => {
  let replayer: MicrostepReplay;
  let part: RecordingPart;
  beforeEach(async () => {
    replayer = new MicrostepReplay();
    part = replayer.play(await entriesOf([report()]));
  });

  it('each names its machine, its arrows, and the entry and the facts that it comes after', () => {
    expect(
      part.microsteps.map(({ entry, facts, machine, states, arrows }) =>
        [entry, facts, machine, states.at(-1), ...arrows].join(' '),
      ),
    ).toEqual([
      '2 1 session session.running.preparing',
      '5 1 session session.running.advancing session.running.preparing --xstate.done.actor.prepare [isReady]--> session.running.advancing',
      '5 1 turn turn.attempting turn.choosing --always [targetIsFree]--> turn.attempting',
      '5 1 session session.running.turning session.running.advancing --always--> session.running.turning',
      '5 4 attempt attempt.requesting',
      '11 4 attempt attempt.answering attempt.requesting --xstate.done.actor.model--> attempt.answering',
      '11 4 attempt attempt.judging attempt.answering --always [allAnswered]--> attempt.judging',
      '11 4 attempt attempt attempt.judging --always [verdictIs(finished)]--> attempt.finished',
      '11 9 turn turn turn.attempting --xstate.done.actor.attempt [attemptWas(finished)]--> turn.finished',
      '11 10 session session.closing session.running.turning --xstate.done.actor.turn [turnWas(finished)]--> session.closing',
      '14 10 session session.ending session.closing --xstate.done.actor.close--> session.ending',
      '14 11 session session session.ending --always [endedAs(succeeded)]--> session.succeeded',
    ]);
  });

  it('each has the path of its actor, and whether it begins or ends it', () => {
    expect(part.microsteps.flatMap(({ actor, isStart }, at) => (isStart ? [[at, actor]] : []))).toEqual([
      [0, ''],
      [2, 'turn'],
      [4, 'turn/attempt'],
    ]);
    expect(part.microsteps.flatMap(({ isActive }, at) => (isActive ? [] : [at]))).toEqual([7, 8, 11]);
    expect(part.microsteps.every(({ scope }) => scope === '')).toBe(true);
  });

  it('holds the context of its machine after it, and the number of its entry', () => {
    const { log } = replayer;
    expect(part.microsteps.map((_, at) => log.entryOf(at))).toEqual(part.microsteps.map(({ entry }) => entry));
    expect(log.entryOf(99)).toBe(0);
    expect(log.contextAt(5)).toHaveProperty('attempt', 1);
    expect(log.contextAt(99)).toBeUndefined();
  });

  it('numbers of the contexts are told where they changed, from the first step of their machine on', () => {
    expect(replayer.log.valuesOf(['turn.attempt', 'session.turn', 'attempt.nothing', 'toolCall.index'])).toEqual({
      'turn.attempt': [[2, 1]],
      'session.turn': [
        [0, 0],
        [3, 1],
      ],
      'attempt.nothing': [[4, null]],
      'toolCall.index': [],
    });
  });
});

describe('S-8: what a page is told of a recorded session', () => {
  const replies = [
    { text: 'Hm.', calls: [{ id: 'c1', name: 'read', input: { q: 'x' } }] },
    { calls: [{ id: 'c2', name: 'read', input: { q: 'y' } }] },
    report(),
  ];
  let entries: JournalEntry[];
  let part: RecordingPart;
  beforeEach(async () => {
    entries = await entriesOf(replies, { read });
    part = new MicrostepReplay().play(entries);
  });

  it('its head, its entries and its facts, with the entries that they came with', () => {
    expect(part.heads.map(({ scope, head }) => [scope, head.agent])).toEqual([['', 'lead']]);
    expect([part.run, part.entries, part.difference]).toEqual([null, entries.length, null]);
    for (const { entry, scope, at } of part.told) {
      expect(['stepped', 'sighted']).toContain(entries[entry - 1]?.type);
      expect([scope, at]).toEqual(['', expect.any(Number)]);
    }
    expect(part.told.filter((one) => 'sighting' in one)).toHaveLength(
      entries.filter((entry) => entry.type === 'sighted' && entry.sighting.type !== 'model.delta').length,
    );
  });

  it('each message once, each list of tools once, and the requests by their numbers', () => {
    expect(part.requests.map(({ turn, messages, tools, scope }) => [turn, messages, tools, scope])).toEqual([
      [1, 1, 0, ''],
      [2, 3, 0, ''],
      [3, 5, 0, ''],
    ]);
    for (const request of part.requests) {
      expect(entries[request.entry - 1]?.type).toBe('sent');
      expect(request).not.toHaveProperty('sessionId');
    }
    expect(part.messages.map(({ scope, from, messages }) => [scope, from, messages.map(({ role }) => role)])).toEqual([
      ['', 0, ['user']],
      ['', 1, ['assistant', 'tool']],
      ['', 3, ['assistant', 'tool']],
    ]);
    expect(part.tools).toHaveLength(1);
    expect(part.tools[0]?.map(({ name }) => name)).toContain('read');
  });

  it('a number with each fact that changed it, and no other', () => {
    const ofTurns = part.changes.filter(({ path }) => path === 'turns');
    expect(
      ofTurns.map(({ told, value }) => [(part.told[told - 1] as { fact: { type: string } }).fact.type, value]),
    ).toEqual([
      ['session.started', 0],
      ['turn.started', 1],
      ['turn.started', 2],
      ['turn.started', 3],
    ]);
  });

  it('in parts, each part has what is new in it', () => {
    const replayer = new MicrostepReplay();
    const parts: RecordingPart[] = [];
    for (let from = 0; from < entries.length; ) {
      const end = partEnd(entries, from, 1);
      parts.push(replayer.play(entries.slice(from, end)));
      from = end;
    }
    expect(parts.length).toBeGreaterThan(20);
    expect(parts.map(({ entries: played }) => played).at(-1)).toBe(entries.length);
    for (const name of ['heads', 'told', 'changes', 'messages', 'tools', 'requests'] as const)
      expect(parts.flatMap((one): unknown[] => one[name])).toEqual(part[name]);
  });

  it('a step and what is observed after it stay together', () => {
    const at = entries.findIndex(({ type }) => type === 'sighted');
    expect(entries[at]?.type).toBe('sighted');
    let end = at;
    while (entries[end]?.type === 'sighted') end += 1;
    expect([partEnd(entries, 0, at), partEnd(entries, 0, 1), partEnd(entries, 2, 1)]).toEqual([end, 1, 3]);
    expect(partEnd(entries, 0, 1_000)).toBe(entries.length);
  });
});

describe('the name of an arrow', () => {
  const source = { id: 'a' };
  it.each([
    [{ source, target: [{ id: 'b' }], eventType: 'go' }, 'a --go--> b'],
    [{ source, target: [{ id: 'b' }, { id: 'c' }], eventType: '' }, 'a --always--> b c'],
    [{ source, eventType: null, guard: 'isReady' }, 'a --always [isReady]--> (stays)'],
    [{ source, eventType: 'go', guard: { type: 'was', params: { outcome: 'done' } } }, 'a --go [was(done)]--> (stays)'],
  ])('%j', (arrow, name) => {
    expect(arrowName(arrow)).toBe(name);
  });

  it('a guard has the constant that tells its uses apart', () => {
    expect(guardName('was', { outcome: 'done' })).toBe('was(done)');
    expect(guardName('ended', { status: 'failed', outcome: 1 })).toBe('ended(failed)');
    expect(guardName('is', { count: 1 })).toBe('is');
    expect([guardName('is', null), guardName('is', undefined), guardName('is', 'x')]).toEqual(['is', 'is', 'is']);
  });

  it('a guard that is computed is read without an event or a context', () => {
    const params = ({ context, event }: { context: { deep: { of: string } }; event: { id: string } }) => ({
      outcome: 'done',
      id: `${event.id}`,
      of: context.deep.of,
    });
    expect(guardText({ type: 'was', params })).toBe('was(done)');
    const negated = Object.assign(() => true, { guards: ['isReady', { type: 'was', params: { status: 'x' } }] });
    expect([guardText(negated), guardText(() => true)]).toEqual(['not isReady was(x)', 'not ']);
  });
});
