import { describe, expect, it } from 'vitest';
import type { Fact } from '../../machines/index.ts';
import type { JournalEntry, SessionHead } from '../../src/journal/journal.ts';
import { type Player, Replay } from '../../src/journal/replay/replay.ts';
import type { StatedSource } from '../../src/observe/observer.ts';

/** What the players were told, in order. */
let told: string[] = [];

/** A player that states the facts of its script, step by step. Each fact takes a position of the one stream. */
class Scripted implements Player {
  readonly scope: string;
  private readonly source: StatedSource;
  private readonly steps: (readonly string[] | null)[];

  constructor(scope: string, source: StatedSource, steps: readonly (readonly string[] | null)[]) {
    this.scope = scope;
    this.source = source;
    this.steps = [...steps];
  }

  private say(text: string): void {
    told.push(`${this.scope || 'root'} ${text}`);
  }

  private state({ type }: Fact): void {
    this.source.beforeFact();
    position += 1;
    this.say(`states ${type}`);
  }

  deliver: Player['deliver'] = (delivery) => this.say(`delivers ${'key' in delivery ? delivery.key : 'a command'}`);
  mark: Player['mark'] = (key, at) => this.say(`marks ${key} at ${at}`);
  resight: Player['resight'] = (sighting, at) => {
    if (sighting.type === 'effect.late' && sighting.key === 'bad') throw new Error('not to be taken');
    position += 1;
    this.say(`sights ${'key' in sighting ? sighting.key : sighting.type} at ${at}`);
  };
  position: Player['position'] = () => position;
  moveTo: Player['moveTo'] = (to) => {
    position = Math.max(position, to);
  };
  restate: Player['restate'] = (facts) => {
    for (const fact of facts) this.state(fact);
  };
  step: Player['step'] = () => {
    const facts = this.steps.shift() ?? null;
    for (const type of facts ?? []) {
      const recorded = this.source.take(factOf(type));
      if (recorded !== null) this.state(recorded);
    }
    return facts !== null;
  };
}

let position = 0;
const factOf = (type: string) => ({ type }) as Fact;

const head = (call: SessionHead['call'] = null) => ({ call }) as SessionHead;
const started = (scope = '', call: SessionHead['call'] = null): JournalEntry => ({
  scope,
  type: 'started',
  head: head(call),
});
const stepped = (seq: number, end: number, facts: readonly string[], scope = ''): JournalEntry => ({
  scope,
  type: 'stepped',
  seq,
  end,
  facts: facts.map(factOf),
});
const sighted = (seq: number, key: string, scope = ''): JournalEntry => ({
  scope,
  type: 'sighted',
  seq,
  at: seq * 100,
  sighting: { type: 'effect.late', key },
});

/** Plays entries; the scripts are the steps of each session, by its scope. */
function playing(scripts: Record<string, readonly (readonly string[] | null)[]>, readsOn = false) {
  told = [];
  position = 0;
  const makes: [scope: string, above: string | null][] = [];
  const scopes = Object.keys(scripts);
  const replay = new Replay<Scripted>(
    (_, above, source) => {
      const scope = scopes[makes.length] ?? '';
      makes.push([scope, above?.scope ?? null]);
      return new Scripted(scope, source, scripts[scope] ?? []);
    },
    { readsOn },
  );
  return { replay, makes };
}

describe('D-3: the entries of a journal are played in their order', () => {
  it('what was sighted among the facts of a step comes before the fact that followed it', () => {
    const { replay } = playing({ '': [['a', 'b'], ['c']] });
    const entries = [
      started(),
      sighted(0, 'first'),
      stepped(1, 6, ['a', 'b']),
      sighted(1, 'before a'),
      sighted(3, 'between'),
      sighted(5, 'after b'),
      sighted(6, 'later'),
      stepped(7, 8, ['c']),
    ];
    const seen: [string, string[] | null][] = [];
    expect(
      replay.play(entries, ({ type }, facts) => seen.push([type, facts?.map((fact) => fact.type) ?? null])),
    ).toBeNull();
    expect(told).toEqual([
      'root sights first at 0',
      'root sights before a at 100',
      'root states a',
      'root sights between at 300',
      'root states b',
      'root sights after b at 500',
      'root sights later at 600',
      'root states c',
    ]);
    expect(seen).toEqual([
      ['started', null],
      ['sighted', null],
      ['stepped', ['a', 'b']],
      ['sighted', null],
      ['stepped', ['c']],
    ]);
    expect([replay.entry, replay.root.scope, position]).toEqual([8, '', 8]);
  });

  it('sub-agents are played under the session above, marks and deliveries by their own', () => {
    const { replay, makes } = playing({ '': [['a']], 'call-1': [['s']], 'call-1/call-2': [] });
    const entries: JournalEntry[] = [
      started(),
      { scope: '', type: 'begun', key: 'turn-1/attempt-1/model', at: 7 },
      stepped(0, 1, ['a']),
      started('call-1', { parent: '', callId: 'call-1' } as SessionHead['call']),
      started('call-1/call-2', { parent: 'call-1', callId: 'call-2' } as SessionHead['call']),
      { scope: 'call-1', type: 'delivered', delivery: { key: 'k', at: 8 } as never },
      { scope: '', type: 'offered', key: 'k', tools: [] } as never,
      stepped(1, 2, ['s'], 'call-1'),
      sighted(1, 'of the sub-agent', 'call-1'),
    ];
    expect(replay.play(entries)).toBeNull();
    expect(makes).toEqual([
      ['', null],
      ['call-1', ''],
      ['call-1/call-2', 'call-1'],
    ]);
    expect(told).toEqual([
      'root marks turn-1/attempt-1/model at 7',
      'root states a',
      'call-1 delivers k',
      'call-1 sights of the sub-agent at 100',
      'call-1 states s',
    ]);
  });

  it('it stops at the first step that leads elsewhere, and names its entry', () => {
    const script = { '': [['a'], ['b'], ['c']] };
    const entries = [started(), stepped(0, 1, ['a']), stepped(1, 2, ['x', 'y']), stepped(2, 3, ['c'])];
    const { replay } = playing(script);
    expect(replay.play(entries)).toEqual({ entry: 3, scope: '', recorded: 'x y', replayed: 'b' });
    expect(told.slice(-2)).toEqual(['root states x', 'root states y']);
    const other = playing(script);
    const odd = (entry: JournalEntry) =>
      entry.type === 'stepped' ? { ...entry, facts: [{ type: 'a', odd: true }] } : entry;
    expect(other.replay.play(entries.slice(0, 2).map(odd))).toEqual({
      entry: 2,
      scope: '',
      recorded: '{"type":"a","odd":true}',
      replayed: '{"type":"a"}',
    });
  });

  it('D-6c: one that reads on takes in what was recorded after that, and no further step', () => {
    const { replay } = playing({ '': [['a'], ['b'], ['c'], ['d']] }, true);
    const entries = [started(), stepped(0, 1, ['a']), stepped(1, 2, ['x', 'y']), stepped(3, 4, ['z'])];
    const difference = { entry: 3, scope: '', recorded: 'x y', replayed: 'b' };
    expect([replay.play(entries), replay.play([stepped(4, 5, ['c'])])]).toEqual([difference, difference]);
    expect(told).toEqual(['a', 'x', 'y', 'z', 'c'].map((type) => `root states ${type}`));
    expect(replay.entry).toBe(5);
  });

  it('D-6d: what is said in other words stays as it was said, and is told of', () => {
    const reworded: unknown[] = [];
    const said: (Fact | null)[] = [];
    const player = (source: StatedSource): Player => ({
      ...new Scripted('', source, []),
      step: () => {
        said.push(source.take({ type: 'turn.started', detail: 'new words' } as never));
        return true;
      },
    });
    const replay = new Replay((_, __, source) => player(source), { onRewording: (one) => reworded.push(one) });
    const old = { type: 'turn.started', detail: 'old words' };
    expect(replay.play([started(), { scope: '', type: 'stepped', seq: 0, end: 1, facts: [old] }])).toBeNull();
    expect(said).toEqual([old]);
    const replayed = { type: 'turn.started', detail: 'new words' };
    expect(reworded).toEqual([{ entry: 2, scope: '', recorded: old, replayed }]);
  });

  it('further calls go on, and count the entries on', () => {
    const { replay } = playing({ '': [['a'], ['b']] });
    expect(replay.play([started(), stepped(0, 1, ['a'])])).toBeNull();
    expect(replay.play([sighted(1, 'between')])).toBeNull();
    expect(replay.play([stepped(2, 3, ['x'])])).toEqual({ entry: 4, scope: '', recorded: 'x', replayed: 'b' });
  });

  it('machines that had broken take no step, and nothing is compared: what was recorded is taken in', () => {
    const { replay } = playing({ '': [null] });
    const seen: unknown[] = [];
    expect(replay.play([started(), stepped(0, 1, ['a'])], (_, facts) => seen.push(facts))).toBeNull();
    expect(seen).toEqual([null, [factOf('a')]]);
    expect(told).toEqual(['root states a']);
  });

  it.each([
    ['in a step', [stepped(0, 2, ['a']), sighted(0, 'bad')]],
    ['between steps', [sighted(0, 'bad'), stepped(1, 2, ['a'])]],
  ])('an observation %s that cannot be taken in is refused, and no step is cut short', (place, entries) => {
    const { replay } = playing({ '': [['a']] });
    expect(() => replay.play([started(), ...entries])).toThrow(
      expect.objectContaining({
        code: 'invalid_journal',
        message: 'Entry 2 of the journal cannot be replayed: not to be taken.',
        cause: expect.any(Error),
      }),
    );
    expect(told).toEqual(place === 'in a step' ? ['root states a'] : []);
  });

  it('an entry of a session that did not start, and the journal of a run, are refused', () => {
    const { replay } = playing({ '': [] });
    expect(() => replay.play([started(), stepped(0, 1, [], 'call-9')])).toThrow(
      'The journal tells of a session "call-9" that did not start.',
    );
    const run = { scope: '', type: 'run', head: { sessionId: 'r' } } as JournalEntry;
    expect(() => playing({ '': [] }).replay.play([run])).toThrow(expect.objectContaining({ code: 'session_unknown' }));
  });
});
