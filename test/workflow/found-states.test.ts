import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import * as states from '../../src/workflow/backlog/state-file.ts';

let backlog: string;
beforeEach(() => {
  backlog = mkdtempSync(join(tmpdir(), 'pawl-state-'));
});

const file = '.agent-state.json';
const shared = {
  ...{
    current_phase: 'processing',
    current_item: 'BUG-1',
    iteration_count: 3,
    failure_count: 1,
    last_failures: ['BUG-1'],
  },
  ...{ early_exit_triggered: false, early_exit_reason: null },
};
const failure = {
  id: 'BUG-1',
  folder: 'bugs/BUG-1',
  component: null,
  phase: 'processing',
  slugs: ['aborted'],
  message: 'No.',
  requests: 2,
};
const own = { ...shared, run: '2026-01-02-1', failures: [failure] };
const found = (content: unknown) => {
  writeFileSync(join(backlog, file), typeof content === 'string' ? content : JSON.stringify(content));
  return states.readState(backlog);
};
const without = (name: string) => Object.fromEntries(Object.entries(own).filter(([field]) => field !== name));

describe('W-4: the state that a run finds', () => {
  it.each(['completed', 'exitedEarly'])('counts as ended if there is no file or the run has ended: %s', (phase) => {
    expect(states.readState(backlog)).toEqual({ kind: 'ended' });
    expect(found({ ...own, current_phase: phase })).toEqual({ kind: 'ended' });
  });

  it('is that of a run that died, with defaults for what earlier versions did not write', () => {
    expect(found(own)).toEqual({
      kind: 'died',
      state: {
        ...own,
        in_progress: [{ id: 'BUG-1', phase: 'processing' }],
        ...{ concurrency: 1, succeeded: [], set_aside: [], tried: [], incidents: [], created: [], changed: [] },
      },
    });
    const state = {
      ...own,
      in_progress: [],
      concurrency: 4,
      succeeded: ['a'],
      set_aside: ['b'],
      tried: ['c'],
      changed: ['d'],
    };
    const more = {
      incidents: [{ kind: 'crash', phase: 'scanning', item: null }],
      created: [{ id: 'x', title: 't', folder: 'f', isNew: true, why: 'w' }],
    };
    expect(found({ ...state, ...more })).toEqual({ kind: 'died', state: { ...state, ...more } });
    expect(found({ ...own, current_item: null })).toMatchObject({ state: { in_progress: [] } });
    expect(found({ ...own, current_phase: 'scanning' })).toMatchObject({ state: { in_progress: [] } });
  });

  it('counts only failures that it lists', () => {
    const counted = (fields: object) => {
      const state = found({ ...own, ...fields });
      return state.kind === 'died' ? [state.state.last_failures, state.state.failure_count] : state;
    };
    expect(counted({ last_failures: ['BUG-1', 'BUG-2', 7], failure_count: 3 })).toEqual([['BUG-1'], 1]);
    expect(counted({ last_failures: ['BUG-1'], failure_count: 0 })).toEqual([['BUG-1'], 0]);
    expect(counted({ failures: [], failure_count: 1 })).toEqual([[], 0]);
  });

  it.each<[unknown, RegExp]>([
    ['', /is corrupt: Unexpected end of JSON input$/],
    ['null', /is corrupt: the value: Invalid input/],
    ['{"run":', /is corrupt: .*JSON/],
    [without('last_failures'), /is corrupt: last_failures: Invalid input/],
    [{ ...own, iteration_count: -1 }, /is corrupt: iteration_count: Too small/],
    [{ ...own, run: '../elsewhere' }, /is corrupt: run: the name of a folder$/],
    [{ ...own, run: '..' }, /is corrupt: run: the name of a folder$/],
    [{ ...own, run: '' }, /is corrupt: run: the name of a folder$/],
    [{ ...own, current_phase: 'dreaming' }, /is corrupt: current_phase is dreaming$/],
    [{ ...own, failures: [{ ...failure, slugs: ['tired'] }] }, /is corrupt: failures\.0\.slugs\.0: Invalid option/],
    [{ ...own, incidents: [{ kind: 'rain' }] }, /is corrupt: incidents\.0\.kind: Invalid/],
  ])('is corrupt, and says where: %j', (content, message) => {
    const state = found(content);
    expect(state).toEqual({ kind: 'corrupt', message: expect.stringMatching(message) });
    expect((state as { message: string }).message.startsWith(`${file} is corrupt: `)).toBe(true);
  });

  it('is corrupt if it is a folder', () => {
    mkdirSync(join(backlog, file));
    expect(states.readState(backlog)).toEqual({ kind: 'corrupt', message: `${file} is corrupt: it is a folder` });
  });

  it.each<[object, string, string[]]>([
    [{}, 'it was in processing of BUG-1, with 1 failure in a row', ['BUG-1']],
    [
      { current_item: null, failure_count: 2, early_exit_reason: 'stop' },
      'it was in processing, with 2 failures in a row, early exit: stop',
      ['BUG-1'],
    ],
    [{ failure_count: 0, last_failures: [] }, 'it was in processing of BUG-1, with 0 failures in a row', []],
    [
      {
        last_failures: [
          'see bug-12 and BUG-3',
          'none',
          7,
          null,
          { id: 'FEAT-2' },
          { item_id: 'BUG-4', item: 'BUG-5' },
          { item: { bug_id: 'BUG-6' } },
          { feature_id: 'x-7' },
          { name: 'BUG-8' },
        ],
      },
      'it was in processing of BUG-1, with 1 failure in a row',
      ['BUG-12', 'FEAT-2', 'BUG-4', 'BUG-6', 'X-7'],
    ],
  ])('of another tool is told, with what failed: %j', (fields, says, failures) => {
    expect(found({ ...shared, ...fields })).toEqual({ kind: 'foreign', says, failures });
    expect(found({ ...shared, ...fields, run: 7 })).toMatchObject({ kind: 'foreign' });
  });
});

describe('W-4: the state file', () => {
  it('is written as a whole, and read as it was written', () => {
    const died = found(own);
    if (died.kind !== 'died') throw new Error(died.kind);
    states.writeState(backlog, died.state);
    expect(states.readState(backlog)).toEqual(died);
    expect(readFileSync(join(backlog, file), 'utf8')).toBe(`${JSON.stringify(died.state, null, 2)}\n`);
  });

  it('is kept under the time when it is put aside', () => {
    writeFileSync(join(backlog, file), 'odd');
    const kept = states.keepAside(backlog);
    expect(kept).toMatch(/^\.agent-state\.json\.kept-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/);
    expect([readdirSync(backlog), readFileSync(join(backlog, kept), 'utf8')]).toEqual([[kept], 'odd']);
    expect(states.timestamp(new Date(0))).toBe('1970-01-01T00-00-00-000Z');
  });
});
