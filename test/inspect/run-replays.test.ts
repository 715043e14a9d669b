import { beforeEach, describe, expect, it } from 'vitest';
import { RunMicrostepReplay } from '../../src/inspect/recorded/run-microstep-replay.ts';
import { RunReplay } from '../../src/inspect/recorded/run-replay.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';
import { outcomeOf } from '../support/scripted-work.ts';
import { errorOf } from '../support/temporary.ts';

describe('S-8: the recording of a workflow run', () => {
  let entries: JournalEntry[];
  beforeEach(async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number);
    const journal = new MemoryJournal();
    await runOver(backlog, { process: ({ item }) => outcomeOf(item.id) }, { journal });
    const [row] = await journal.list({ metadata: { role: 'run' } });
    entries = JSON.parse(JSON.stringify(await journal.read(row?.sessionId ?? '')));
  });
  const stepped = () => entries.flatMap((entry, index) => (entry.type === 'stepped' ? [index] : []));
  /** The entries, with one of them changed. */
  const changed = (at: number, change: (entry: JournalEntry) => void) => {
    const copy = JSON.parse(JSON.stringify(entries)) as JournalEntry[];
    const entry = copy[at];
    if (entry !== undefined) change(entry);
    return copy;
  };

  it('tells the facts that were recorded, with the entry and the time of each', () => {
    const part = new RunMicrostepReplay().play(entries);
    expect([part.difference, part.entries, part.heads, part.run]).toEqual([
      null,
      entries.length,
      [],
      entries[0]?.type === 'run' ? entries[0].head : null,
    ]);
    for (const index of stepped()) {
      const facts = part.told.flatMap((one) => ('runFact' in one && one.entry === index + 1 ? [one.runFact.type] : []));
      expect(entries[index]).toMatchObject({ facts: facts.map((type) => ({ type })) });
    }
    let at = part.run?.at;
    const times = new Map(
      entries.map((entry, index) => {
        if (entry.type === 'run.delivered') at = entry.delivery.at;
        return [index + 1, at];
      }),
    );
    expect(part.told.map((one) => one.at)).toEqual(part.told.map(({ entry }) => times.get(entry)));
    expect(new Set(part.told.map(({ scope }) => scope))).toEqual(new Set(['']));
  });

  it('has the steps of the run and of its items, each with its entry and the facts told by then', () => {
    const { microsteps, told } = new RunMicrostepReplay().play(entries);
    expect(microsteps[0]).toMatchObject({ machine: 'workflow', actor: '', isStart: true, entry: 2, arrows: [] });
    expect(microsteps.filter(({ isStart }) => isStart).map(({ machine, actor }) => [machine, actor])).toEqual([
      ['workflow', ''],
      ['item', 'item.1'],
      ['item', 'item.2'],
      ['item', 'item.3'],
    ]);
    expect(microsteps.at(-1)).toMatchObject({ isActive: false, facts: told.length });
    for (const { entry, facts } of microsteps) {
      expect(entries[entry - 1]?.type).toBe('stepped');
      expect(facts).toBeLessThanOrEqual(told.filter((one) => one.entry <= entry).length);
      expect(facts).toBeGreaterThanOrEqual(told.filter((one) => one.entry < entry).length);
    }
  });

  it('comes in parts as it does whole', () => {
    const whole = new RunMicrostepReplay().play(entries);
    const replayer = new RunMicrostepReplay();
    const parts = entries.map((entry) => replayer.play([entry]));
    expect(parts.flatMap(({ told }) => told)).toEqual(whole.told);
    expect(parts.flatMap(({ microsteps }) => microsteps.map(({ arrows }) => arrows))).toEqual(
      whole.microsteps.map(({ arrows }) => arrows),
    );
    expect(parts.map(({ run }) => run).filter((run) => run !== null)).toEqual([whole.run]);
    expect(parts.map(({ entries: played }) => played)).toEqual(entries.map((_, index) => index + 1));
  });

  it('each entry is told of, with the facts of a step', () => {
    const seen: [string, number | null][] = [];
    const player = new RunReplay(null);
    expect(player.play(entries, (entry, facts) => seen.push([entry.type, facts?.length ?? null]))).toBeNull();
    expect(seen.map(([type]) => type)).toEqual(entries.map(({ type }) => type));
    for (const [type, facts] of seen) expect(facts === null).toBe(type !== 'stepped');
  });

  it('stops at the first step that its machine takes otherwise', () => {
    const [, second = 0, third = 0] = stepped();
    const factsIn = (index: number) => (entries[index]?.type === 'stepped' ? entries[index].facts : []);
    const other = changed(second, (entry) => Object.assign(entry, { facts: [{ type: 'item.failed' }] }));
    const player = new RunReplay(null);
    const replayed = factsIn(second)
      .map(({ type }) => type)
      .join(' ');
    expect(player.play(other)).toEqual({ entry: second + 1, scope: '', recorded: 'item.failed', replayed });
    expect([player.entry, player.play(entries)]).toEqual([second + 1, player.difference]);
    const [first, ...rest] = factsIn(third);
    const odd = { ...first, type: first?.type ?? '', odd: true };
    const contents = changed(third, (entry) => Object.assign(entry, { facts: [odd, ...rest] }));
    expect(new RunReplay(null).play(contents)).toMatchObject({
      entry: third + 1,
      recorded: expect.stringContaining('"odd":true'),
      replayed: expect.not.stringContaining('odd'),
    });
  });

  it('an entry of a session is refused by its number, and so is one that cannot be played', () => {
    const ofSession = changed(1, (entry) => Object.assign(entry, { type: 'sighted' }));
    expect(errorOf(() => new RunReplay(null).play(ofSession))).toMatchObject({
      code: 'invalid_journal',
      message: 'Entry 2 of the run cannot be replayed: an entry of the type sighted does not belong to a run.',
    });
    const broken = changed(0, (entry) => Object.assign(entry, { head: null }));
    expect(errorOf(() => new RunMicrostepReplay().play(broken))).toMatchObject({
      code: 'invalid_journal',
      message: expect.stringContaining('Entry 1 of the run cannot be replayed: '),
    });
  });
});
