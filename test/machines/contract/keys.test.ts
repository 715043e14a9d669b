import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  approvalKey,
  attemptIn,
  attemptName,
  itemKey,
  modelKey,
  planKey,
  requestOfKey,
  runKey,
  scanWaitKey,
  toolKey,
  turnName,
  waitKey,
  workKey,
} from '../../../machines/contract/keys.ts';

const place = { turn: 2, attempt: 1, index: 0 };

it('D-1: the key of an effect says where in the session or the run it is', () => {
  expect([turnName(2), attemptName(place), planKey(2), modelKey(place), waitKey(place)]).toEqual([
    ...['turn-2', 'turn-2/attempt-1', 'turn-2/plan', 'turn-2/attempt-1/model', 'turn-2/attempt-1/wait'],
  ]);
  expect([approvalKey(place), toolKey(place)]).toEqual(['turn-2/attempt-1/approval-0', 'turn-2/attempt-1/tool-0']);
  expect([runKey('scan', 3), scanWaitKey(3), workKey(2, 'processing', 1), itemKey(2, 'archive')]).toEqual([
    ...['scan-3', 'scan-3/wait', 'item-2/processing/try-1', 'item-2/archive'],
  ]);
});

it('D-1: what a key says can be read again, for every turn and attempt', () => {
  const count = fc.integer({ min: 1, max: 1_000_000 });
  fc.assert(
    fc.property(count, count, count, (turn, attempt, index) => {
      for (const key of [modelKey, waitKey, attemptName])
        expect(attemptIn(key({ turn, attempt }))).toEqual({ turn, attempt });
      expect(attemptIn(toolKey({ turn, attempt, index }))).toEqual({ turn, attempt });
      expect(requestOfKey(modelKey({ turn, attempt }))).toEqual({ turn, attempt });
      expect(requestOfKey(waitKey({ turn, attempt }))).toBeNull();
    }),
  );
  expect(attemptIn('turn-3')).toEqual({ turn: 3, attempt: 1 });
});

it.each([
  '',
  'turn-0',
  'turn-x',
  'turn-1/attempt-0',
  'prepare',
  'turn-1/plan',
  'item-1/archive',
  'a turn-1',
  'turn-1-2',
])('D-1: no attempt is read in %j', (text) => expect([attemptIn(text), requestOfKey(text)]).toEqual([null, null]));

it('D-1: no other file writes or reads keys', () => {
  const strays = ['machines', 'src'].flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && name !== 'contract/keys.ts')
      .filter((name) => {
        const code = readFileSync(join(room, name), 'utf8').replace(/^\s*(\*|\/\/|\/\*).*$/gm, '');
        return /[`'](turn|attempt|item|scan|take|capture)-\$\{|\^turn-|'\/(model|wait|plan)'/.test(code);
      })
      .map((name) => join(room, name)),
  );
  expect(strays).toEqual([]);
});
