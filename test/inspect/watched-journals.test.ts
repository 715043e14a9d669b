import { describe, expect, it } from 'vitest';
import { type Heard, WatchedJournal } from '../../src/inspect/live/watched-journal.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';

const session = { sessionId: 't', agent: 'working', metadata: {} };
const entries: readonly JournalEntry[] = ['a', 'b', 'c', 'd'].map((key, at) => ({ scope: '', type: 'begun', key, at }));
const [noted] = entries as [JournalEntry];

describe('a journal that is watched', () => {
  it('tells what was written, after it was written', async () => {
    const journal = new WatchedJournal(new MemoryJournal());
    const heard: Heard[] = [];
    const stop = journal.listen((one) => heard.push(one));
    await journal.create(session, { owner: 'me', entries: entries.slice(0, 2) });
    await journal.append('t', { owner: 'me', after: 2, entries: entries.slice(2, 3) });
    journal.noted('t', noted);
    await expect(journal.append('t', { owner: 'other', after: 3, entries: [] })).rejects.toThrow();
    await expect(journal.create(session, { owner: 'me', entries: [] })).rejects.toThrow();
    const all = [
      { sessionId: 't', after: 0, entries: entries.slice(0, 2) },
      { sessionId: 't', after: 2, entries: entries.slice(2, 3) },
      { sessionId: 't', noted: noted },
    ];
    expect(heard).toEqual(all);
    stop();
    await journal.append('t', { owner: 'me', after: 3, entries: entries.slice(3, 4) });
    expect(heard).toEqual(all);
  });

  it('forwards every other method', async () => {
    const asked: unknown[] = [];
    const inner = new Proxy(new MemoryJournal(), {
      get: (_, name) =>
        name === 'leaseMs'
          ? 7
          : (...given: unknown[]) => asked.push([name, ...given]) && Promise.resolve(`${String(name)}!`),
    });
    const watched = new WatchedJournal(inner);
    const post = { type: 'session.stop' } as const;
    watched.noted('s', noted);
    const answers = [
      watched.read('s', 4),
      watched.lease('s', 'me'),
      watched.renew('s', 'me'),
      watched.release('s', 'me'),
      watched.post('s', post),
      watched.inbox('s'),
      watched.list({ agent: 'a' }),
      watched.delete('s'),
      watched.close(),
    ];
    expect(watched.leaseMs).toBe(7);
    expect(watched.inner).toBe(inner);
    expect(asked).toEqual([
      ['noted', 's', noted],
      ['read', 's', 4],
      ['lease', 's', 'me'],
      ['renew', 's', 'me'],
      ['release', 's', 'me'],
      ['post', 's', post],
      ['inbox', 's'],
      ['list', { agent: 'a' }],
      ['delete', 's'],
      ['close'],
    ]);
    expect(await Promise.all(answers)).toEqual([
      'read!',
      'lease!',
      'renew!',
      'release!',
      'post!',
      'inbox!',
      'list!',
      'delete!',
      'close!',
    ]);
  });
});
