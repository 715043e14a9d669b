import { describe, expect, it } from 'vitest';
import type { Fact } from '../../machines/index.ts';
import { Rows } from '../../src/inspect/recorded/rows.ts';
import type { Sighting } from '../../src/observe/events.ts';
import { linesOf, type Said } from '../support/row-tree.ts';

const fact = (one: Fact) => ({ scope: '', fact: one });
const seen = (sighting: Sighting) => ({ scope: '', sighting });
const begun = fact({ type: 'session.started', maxTurns: 4, maxRetries: 3, targets: ['a', 'b'] });
const noPlan = {
  speaker: null,
  targets: null,
  once: false,
  own: null,
  instructions: null,
  tools: null,
  offered: null,
  settings: null,
};
const failure = { slugs: ['aborted' as const], retryAt: null, detail: 'by a person' };

const noteOf = (one: Said) => linesOf(new Rows(), [begun, one])[1];

describe('S-8: the notes in the list of what happened in a session', () => {
  it('what is observed stands in the attempt that runs, or in the session', () => {
    const lost = seen({ type: 'server.lost', server: 'm', message: 'gone' });
    const of = { turn: 1, attempt: 1, target: 'a' };
    const ended = fact({ type: 'attempt.finished', ...of });
    expect(
      linesOf(new Rows(), [
        begun,
        fact({ type: 'attempt.started', ...of, notice: null, offer: 'all' }),
        lost,
        ended,
        lost,
      ]),
    ).toEqual([
      'session session (at most 4 turns × 3 attempts, on a, b) 1- running',
      '  attempt attempt 1 (a) 2-4 done',
      '    note server m (gone) 3-3 done',
      '  note server m (gone) 5-5 done',
    ]);
  });

  it.each<[Sighting, string | null]>([
    [{ type: 'model.warned', target: 'a', warning: 'ignored' }, 'warning (a: ignored)'],
    [{ type: 'server.connected', server: 'm', tools: ['x', 'y'] }, 'server m (connected; 2 tools)'],
    [{ type: 'server.unavailable', server: 'm', message: 'no' }, 'server m (no)'],
    [{ type: 'server.toolsChanged', server: 'm', tools: ['x'] }, 'server m (its tools changed; 1 now)'],
    [
      { type: 'conversation.repaired', repairs: { answered: 1, orphansDropped: 0, emptyDropped: 0, renamed: 0 } },
      'conversation repaired ({"answered":1,"orphansDropped":0,"emptyDropped":0,"renamed":0})',
    ],
    [{ type: 'session.resumed', interrupted: [] }, 'resumed'],
    [{ type: 'session.resumed', interrupted: ['k1', 'k2'] }, 'resumed (interrupted: k1, k2)'],
    [{ type: 'session.suspended', failure }, 'suspended (by a person)'],
    [{ type: 'session.suspended', failure: { ...failure, detail: null } }, 'suspended'],
    [{ type: 'observer.failed', observer: 'onEvent', message: 'bad' }, 'onEvent failed (bad)'],
    [{ type: 'effect.late', key: 'k' }, 'late result dropped (k)'],
    [{ type: 'tool.progressed', callId: 'c', name: 'read', output: { type: 'text', value: '' } }, null],
  ])('the line of %j', (sighting, line) => {
    expect(noteOf(seen(sighting))).toBe(line === null ? undefined : `  note ${line} 2-2 done`);
  });

  it.each([
    [{ speaker: 'helper' }, 'handed off to helper'],
    [{ targets: ['a', 'b'] }, 'on a, b'],
    [{ tools: ['x', 'y'] }, 'tools: x, y'],
    [{ tools: [] }, 'tools: none'],
    [{ instructions: 'Be brief.' }, 'own instructions'],
    [{ speaker: 'h', tools: ['x'] }, 'handed off to h; tools: x'],
  ])('the plan of a turn: %j', (own, detail) => {
    expect(noteOf(fact({ type: 'turn.planned', turn: 3, ...noPlan, ...own }))).toBe(
      `  note plan of turn 3 (${detail}) 2-2 done`,
    );
  });
});
