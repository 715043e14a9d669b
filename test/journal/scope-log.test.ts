import { describe, expect, it } from 'vitest';
import { PawlError } from '../../src/index.ts';
import type { JournalEntry, SessionHead } from '../../src/journal/journal.ts';
import { restoredFacts } from '../../src/journal/replay/stored-facts.ts';
import { ScopeLog, scopeOf } from '../../src/journal/scope-log.ts';
import type { TreeLog } from '../../src/journal/tree-log.ts';

const headOf = (call: { parent: string; callId: string } | null) =>
  ({ sessionId: 's', call }) as unknown as SessionHead;

/** A tree that says what is noted, written and taken. */
function tree() {
  const done: unknown[] = [];
  const fake = {
    position: 7,
    note: (entry: JournalEntry) => void done.push(entry),
    write: async () => void done.push('write'),
    took: (id: number) => void done.push(['took', id]),
    offered: (scope: string, tools: readonly unknown[]) => {
      done.push(['offered', scope, tools.length]);
      return 3;
    },
    end: async (change: object) => void done.push(['end', change]),
    fail: (error: unknown) => void done.push(['fail', error]),
  };
  return { fake: fake as unknown as TreeLog, done, moveTo: (position: number) => (fake.position = position) };
}

const below = headOf({ parent: 'a', callId: 'b' });

describe('D-3: the log of one session of a tree', () => {
  it('is named by the calls that lead to it', () => {
    expect(scopeOf(headOf(null))).toBe('');
    expect(scopeOf(headOf({ parent: '', callId: 'a' }))).toBe('a');
    expect(scopeOf(headOf({ parent: 'a/b', callId: 'c' }))).toBe('a/b/c');
  });

  it('notes that its session started, and that of a sub-agent in the same tree', async () => {
    const { fake, done } = tree();
    const own = headOf(null);
    const log = ScopeLog.of(fake, own);
    const child = log.child(below);
    expect([child.scope, child.tree]).toEqual(['a/b', fake]);
    await log.start();
    expect(done).toEqual([
      { scope: '', type: 'started', head: own },
      { scope: 'a/b', type: 'started', head: below },
      'write',
    ]);
  });

  it('writes deliveries with the messages that they took, and each message once', async () => {
    const { fake, done } = tree();
    const log = new ScopeLog(fake, below);
    const delivery = { at: 1, event: { type: 'session.stop' as const } };
    await log.delivered([delivery]);
    log.receives(4);
    log.receives(5);
    await log.delivered([delivery, delivery]);
    await log.delivered([delivery]);
    const entry = { scope: 'a/b', type: 'delivered', delivery };
    expect(done).toEqual([entry, 'write', entry, entry, ['took', 4], ['took', 5], 'write', entry, 'write']);
  });

  it('marks each effect before it begins', async () => {
    const { fake, done } = tree();
    await new ScopeLog(fake, below).begun(['one', 'two'], 9);
    const entry = { scope: 'a/b', type: 'begun', at: 9 };
    expect(done).toEqual([{ ...entry, key: 'one' }, { ...entry, key: 'two' }, 'write']);
  });

  it('notes each step with its facts and its positions, those before it not included', () => {
    const { fake, done, moveTo } = tree();
    const log = new ScopeLog(fake, below);
    log.fact({ type: 'session.stopping' });
    const delivery = {
      key: 'k',
      at: 1,
      chance: 0,
      outcome: { text: 'A text that is long enough to be named by its place.' },
    };
    const text = delivery.outcome.text;
    const take = () => {
      log.fact({ type: 'session.stopping' });
      log.fact({ type: 'session.steered', text });
      moveTo(9);
    };
    log.applying({ delivery, take });
    const facts = [{ type: 'session.stopping' }, { type: 'session.steered', text: { $from: ['outcome', 'text'] } }];
    expect(done).toEqual([{ scope: 'a/b', type: 'stepped', seq: 7, end: 9, facts }]);
    expect(restoredFacts(facts, delivery)).toEqual([{ type: 'session.stopping' }, { type: 'session.steered', text }]);
  });

  it('writes a request before it goes out, with its tools, its marks and how long the conversation is', async () => {
    const { fake, done } = tree();
    const request = { turn: 2, attempt: 1 } as Parameters<ScopeLog['sent']>[1];
    await new ScopeLog(fake, below).sent(() => [], request, 'openai', { tools: [], marks: 2 });
    expect(done).toEqual([
      ['offered', 'a/b', 0],
      {
        ...{ scope: 'a/b', type: 'sent', turn: 2, attempt: 1, provider: 'openai' },
        ...{ messages: 0, tools: 3, marks: 2 },
      },
      'write',
    ]);
  });

  it('notes what was sighted, where it was', () => {
    const { fake, done } = tree();
    const sighting = { type: 'effect.late' as const, key: 'k' };
    new ScopeLog(fake, below).sighted(sighting, 3);
    expect(done).toEqual([{ scope: 'a/b', type: 'sighted', seq: 7, at: 3, sighting }]);
  });

  it('passes on a failure, and the end of the root session alone', async () => {
    const { fake, done } = tree();
    const error = new PawlError('journal_failed', 'full');
    new ScopeLog(fake, below).failed(error);
    await new ScopeLog(fake, below).ended({ status: 'failed' });
    await new ScopeLog(fake, headOf(null)).ended({ status: 'failed' });
    expect(done).toEqual([
      ['fail', error],
      ['end', { status: 'failed' }],
    ]);
  });
});
