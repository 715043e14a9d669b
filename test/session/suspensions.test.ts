import { describe, expect, it } from 'vitest';
import type { Failure } from '../../machines/index.ts';
import { PawlError } from '../../src/index.ts';
import type { TreeLog } from '../../src/journal/tree-log.ts';
import { type LifeParts, SessionLife } from '../../src/session/recovery/life.ts';
import { giveUp, type SuspendedRoot, Suspension } from '../../src/session/recovery/suspension.ts';
import { countedClock } from '../support/counted-clock.ts';

type Told = { type: string; failure: Failure };
type Ending = Pick<Told, 'failure'> & { status: string };

const said = ({ type, failure: { slugs, detail } }: Told) => `${type}: ${slugs} ${detail}`;

/** A tree of a session and its sub-agent that keeps what becomes of it. Both run an effect until `idle` is called. */
function tree({ hasEnded = false, secrets = [] as string[] } = {}) {
  const done: string[] = [];
  const { clock, alarms } = countedClock();
  const idle = Promise.withResolvers<void>();
  const busy = { root: 0, child: 0 };
  const kept = { isClosed: false, isBegun: true, holds: () => Promise.resolve(true), release: async () => {} };
  const note = (what: string) => void done.push(what);
  const sessionOf = (name: 'root' | 'child') => ({
    life: new SessionLife({
      secrets,
      log: null,
      machine: { hasEnded, leaveSignal: () => note(`${name} retired`) },
      subSessions: name === 'child' ? null : { grants: { suspend: () => note('no more grants') } },
      journaled: {
        suspend: () => {
          note(`${name} suspended`);
          return idle.promise;
        },
        get isBusy() {
          busy[name] -= 1;
          return busy[name] >= 0;
        },
        settled: async () => note(`${name} settled`),
        release: () => {},
      },
      effects: {
        leave: () => {
          note(`${name} closed its servers`);
          return Promise.reject(new Error('a server hung'));
        },
      },
      observer: {
        letGo: ({ slugs }: { slugs: string[] }) => note(`${name} let go: ${slugs}`),
        silence: () => note(`${name} silenced`),
        takeFact: (fact: Told) => note(`${name} took ${said(fact)}`),
        recordedEnd: null,
        sight: (sighting: Told) => note(`${name} saw ${said(sighting)}`),
        folds: { log: { sighting: (sighting: Told) => note(`logged ${said(sighting)}`) } },
      },
    } as unknown as LifeParts),
  });
  const child = sessionOf('child');
  const root = {
    ...sessionOf('root'),
    tree: () => [root, child],
    get result() {
      return Promise.resolve().then(() => note('root ended'));
    },
    letGo: async ({ status, failure }: Ending) => note(`settled ${status}: ${failure.slugs}`),
  };
  const log = {
    get isClosed() {
      return kept.isClosed;
    },
    get isBegun() {
      return kept.isBegun;
    },
    release: async () => {
      await kept.release();
      note('lease given back');
    },
    leave: async () => note('left'),
    journal: {},
    session: { sessionId: 's' },
    holdsSession: () => kept.holds(),
  };
  const [session, treeLog] = [root as unknown as SuspendedRoot, log as unknown as TreeLog];
  return {
    root: session,
    log: treeLog,
    begin: () => new Suspension(session, treeLog, clock),
    done,
    clock,
    alarms,
    idle,
    busy,
    kept,
  };
}

const retired = ['root retired', 'child retired', 'root closed its servers', 'child closed its servers'];

describe('D-5: a suspension', () => {
  it('waits for what runs, gives the lease back, and ends every session of the tree', async () => {
    const { begin, done, alarms, idle } = tree();
    const over = begin().within(1_000);
    expect(done).toEqual(['no more grants', 'root suspended', 'child suspended']);
    expect(alarms()).toBe(1);
    idle.resolve();
    await over;
    expect(alarms()).toBe(0);
    expect(done.slice(3)).toEqual([
      ...retired,
      'child let go: suspended',
      'root saw session.suspended: suspended null',
      'root silenced',
      'child silenced',
      'lease given back',
      'settled suspended: suspended',
    ]);
  });

  it('whose last write fails says so, in the log and in its result', async () => {
    const { begin, done, idle, kept } = tree({ secrets: ['hunter2'] });
    kept.release = () => Promise.reject(new Error('hunter2: the disk is full'));
    idle.resolve();
    await begin().within(1_000);
    expect(done.slice(-2)).toEqual([
      'logged session.suspended: journal_failed [redacted]: the disk is full',
      'settled suspended: journal_failed',
    ]);
  });

  it('waits no longer than the shortest time that was allowed', async () => {
    const { begin, done, clock } = tree();
    const suspension = begin();
    const over = Promise.all([suspension.within(5_000), suspension.within(1_000)]);
    await clock.advance(999);
    expect(done).toHaveLength(3);
    await clock.advance(1);
    await over;
    expect(done.at(-1)).toBe('settled suspended: suspended');
  });

  it('has what was accepted so far delivered and written first', async () => {
    const { begin, done, idle, busy } = tree();
    busy.child = 2;
    idle.resolve();
    await begin().within(1_000);
    const settled = ['root settled', 'child settled'];
    expect(done.slice(3, 8)).toEqual([...settled, ...settled, 'root retired']);
  });

  it('does not wait for that when the journal has failed, and leaves the rest to that failure', async () => {
    const { begin, done, idle, busy, kept } = tree();
    busy.root = 1_000_000;
    idle.resolve();
    kept.isClosed = true;
    await begin().within(1_000);
    expect(done).toHaveLength(3);
  });

  it('of a session that ended meanwhile waits for its result, and lets go of nothing', async () => {
    const { begin, done, idle } = tree({ hasEnded: true });
    idle.resolve();
    await begin().within(1_000);
    expect(done.slice(3)).toEqual(['root ended']);
  });
});

describe('D-5: a session whose journal fails', () => {
  const failed = new PawlError('journal_failed', 'hunter2 is no password.');

  it('begins and delivers nothing more, is suspended with the reason, and does not touch the lease', async () => {
    const { root, log, done } = tree({ secrets: ['hunter2'] });
    const over = giveUp(root, log, failed);
    expect(done.slice(0, 2)).toEqual(retired.slice(0, 2));
    await over;
    expect(done).toEqual([
      ...retired,
      'child let go: journal_failed',
      'root saw session.suspended: journal_failed [redacted] is no password.',
      'left',
      'root silenced',
      'child silenced',
      'settled suspended: journal_failed',
    ]);
  });

  it.each<[string, string, PawlError, () => Promise<boolean>]>([
    ['failed', 'the journal holds nothing of it', failed, async () => false],
    ['suspended', 'the journal holds its beginning after all', failed, async () => true],
    ['suspended', 'the journal cannot say', failed, () => Promise.reject(new Error('gone'))],
    ['failed', 'another one has its id', new PawlError('session_exists', 'It exists.'), async () => true],
  ])('before its first write, it is %s if %s', async (status, _, error, holds) => {
    const { root, log, done, kept } = tree();
    Object.assign(kept, { isBegun: false, holds });
    await giveUp(root, log, error);
    const told = status === 'failed' ? 'took session.failed' : 'saw session.suspended';
    expect(done).toContain(`root ${told}: journal_failed ${error.message}`);
  });

  it('and that had ended stays ended', async () => {
    const { root, log, done } = tree({ hasEnded: true });
    await giveUp(root, log, failed);
    expect(done).toEqual([]);
  });
});
