import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { journalConformance } from '../../src/testing/index.ts';

describe('D-3: a journal in memory keeps its promises while the process lives', () => {
  const kept = new MemoryJournal({ leaseMs: 1_000 });
  for (const { name, check } of journalConformance(() => kept)) it(name, check);
});

describe('S-8: a journal in memory for an inspector', () => {
  const created = (journal: MemoryJournal, sessionId: string) =>
    journal.create({ sessionId, agent: 'a', metadata: {} }, { owner: 'me', entries: [], change: {} });
  const end = (journal: MemoryJournal, sessionId: string) =>
    journal.append(sessionId, { owner: 'me', after: 0, entries: [], change: { status: 'succeeded' } });
  const ids = async (journal: MemoryJournal) => (await journal.list({})).map(({ sessionId }) => sessionId);

  it('keeps the sessions that run, and the latest of those that have ended', async () => {
    const journal = new MemoryJournal({ keep: 2 });
    for (const id of ['a', 'b', 'c', 'd']) await created(journal, id);
    for (const id of ['c', 'a']) await end(journal, id);
    expect((await ids(journal)).toSorted()).toEqual(['a', 'b', 'c', 'd']);
    await end(journal, 'b');
    expect((await ids(journal)).toSorted()).toEqual(['a', 'b', 'd']);
    await end(journal, 'd');
    expect((await ids(journal)).toSorted()).toEqual(['b', 'd']);
  });

  it('lists the latest written first, and of those of one moment the one that came last', async () => {
    const { now } = Date;
    let at = now();
    vi.spyOn(Date, 'now').mockImplementation(() => at);
    onTestFinished(() => void vi.restoreAllMocks());
    const journal = new MemoryJournal();
    for (const id of ['a', 'b', 'c']) await created(journal, id);
    expect(await ids(journal)).toEqual(['c', 'b', 'a']);
    await journal.append('a', { owner: 'me', after: 0, entries: [], change: {} });
    expect(await ids(journal)).toEqual(['c', 'b', 'a']);
    at += 1;
    await journal.append('a', { owner: 'me', after: 0, entries: [], change: {} });
    expect(await ids(journal)).toEqual(['a', 'c', 'b']);
    expect((await journal.list({ since: at })).map(({ sessionId }) => sessionId)).toEqual(['a']);
    // A lease holds until it is over.
    at += journal.leaseMs - 1;
    expect(await journal.lease('b', 'other')).toBe(true);
    expect(await journal.lease('a', 'other')).toBe(false);
    at += 1;
    expect(await journal.lease('a', 'other')).toBe(true);
    at += journal.leaseMs - 1;
    expect(await journal.renew('a', 'other')).toBe(true);
    at += journal.leaseMs - 1;
    expect(await journal.lease('a', 'me')).toBe(false);
    await journal.release('none', 'other');
    expect(await journal.renew('none', 'me')).toBe(false);
    expect(await journal.inbox('none')).toEqual([]);
  });

  it('takes in sessions that were written elsewhere, as they were', async () => {
    const journal = new MemoryJournal();
    await created(journal, 'a');
    const [row] = await journal.list({});
    if (row === undefined) throw new Error('no session');
    const entry = { scope: '', type: 'begun', key: 'k', at: 1 } as const;
    for (const status of ['running', 'suspended', 'failed'] as const)
      journal.load({ ...row, sessionId: status, status }, [entry]);
    const loaded = (await journal.list({})).map(({ sessionId, status, entries }) => [sessionId, status, entries]);
    expect(loaded.toSorted()).toEqual([
      ['a', 'running', 0],
      ['failed', 'failed', 1],
      ['running', 'suspended', 1],
      ['suspended', 'suspended', 1],
    ]);
    expect([await journal.read('failed'), await journal.inbox('running')]).toEqual([[entry], []]);
    expect(await journal.lease('running', 'me')).toBe(true);
    const stop = { type: 'session.stop' } as const;
    expect([await journal.post('suspended', stop), await journal.post('failed', stop)]).toEqual([true, false]);
  });
});
