import { expect, it } from 'vitest';
import { checkEntries } from '../../src/journal/entries.ts';
import { errorOf } from '../support/temporary.ts';

const whole = [
  { scope: '', type: 'started', head: { sessionId: 's' } },
  { scope: '', type: 'run', head: { sessionId: 's' } },
  { scope: 'c1', type: 'delivered', delivery: {} },
  { scope: 'c1', type: 'delivered', delivery: { outcome: {} } },
  { scope: '', type: 'run.delivered', delivery: {} },
  { scope: '', type: 'sighted', sighting: {} },
  { scope: '', type: 'sighted', sighting: { childSessionId: 's/c1' } },
  { scope: '', type: 'begun', key: 'prepare' },
  { scope: '', type: 'of a later release' },
];

it('D-3: entries that hold what their type says are entries, whatever else they hold', () => {
  for (const entries of [whole, []]) expect(() => checkEntries(entries as never)).not.toThrow();
});

it.each<[string, unknown]>([
  ['null', null],
  ['a text', 'stepped'],
  ['a list', ['started']],
  ['without a type', { scope: '' }],
  ['with a type that is no text', { scope: '', type: 7 }],
  ['without a scope', { type: 'begun' }],
  ['with a scope that is no text', { type: 'begun', scope: null }],
  ['started without the id of its session', { scope: '', type: 'started', head: {} }],
  ['run with an id that is no text', { scope: '', type: 'run', head: { sessionId: 7 } }],
  ['sighted with a child that is no text', { scope: '', type: 'sighted', sighting: { childSessionId: null } }],
  ['a delivery whose outcome is a text', { scope: '', type: 'delivered', delivery: { outcome: 'x' } }],
  ['a delivery whose outcome is null', { scope: '', type: 'run.delivered', delivery: { outcome: null } }],
  ...['started', 'run', 'delivered', 'run.delivered', 'sighted'].flatMap((type): [string, unknown][] => [
    [`${type} without what it holds`, { scope: '', type }],
    [`${type} with null in it`, { scope: '', type, head: null, delivery: null, sighting: null }],
    [`${type} with a list in it`, { scope: '', type, head: [], delivery: [], sighting: [] }],
    [`${type} with a text in it`, { scope: '', type, head: 'x', delivery: 'x', sighting: 'x' }],
  ]),
])('D-3: an entry is refused by its number: %s', (_, entry) => {
  expect(errorOf(() => checkEntries([...whole, entry] as never))).toMatchObject({
    code: 'invalid_journal',
    message: 'Entry 10 of the journal is malformed.',
  });
});
