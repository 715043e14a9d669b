import { describe, expect, it, vi } from 'vitest';
import { PawlError } from '../../src/index.ts';
import type { SessionMessage } from '../../src/journal/journal.ts';
import type { ScopeLog } from '../../src/journal/scope-log.ts';
import { delta, logged, type Sighted, session, stepped } from '../support/tree-logs.ts';
import { waitingCalls } from '../support/waiting-calls.ts';

const progress = (seq: number, callId: string, output: number, scope = ''): Sighted => ({
  ...{ scope, type: 'sighted', seq, at: seq },
  sighting: { type: 'tool.progressed', callId, name: 't', output: { type: 'json', value: output } },
});

describe('D-3: what is noted is written in one append', () => {
  it('and the session begins with the first', async () => {
    const { journal, log } = logged();
    const created = vi.spyOn(journal, 'create');
    expect([log.isBegun, await log.holdsSession(), log.position]).toEqual([false, false, 7]);
    for (const seq of [1, 2]) log.note(stepped(seq));
    await Promise.all([log.write(), log.write()]);
    expect(journal.appends).toMatchObject([{ owner: 'me', after: 0, entries: [{ seq: 1 }, { seq: 2 }] }]);
    expect(created.mock.calls[0]?.[1]).toMatchObject({ taken: [] });
    expect([log.isBegun, await log.holdsSession()]).toEqual([true, true]);
    log.note(stepped(3));
    await log.write();
    await log.write();
    expect(journal.appends.slice(1)).toMatchObject([{ after: 2, entries: [{ seq: 3 }], change: {}, taken: [] }]);
  });

  it('D-3h: with the status of the end in the same append as its facts, once', async () => {
    const { journal, log, tree } = logged();
    log.note(stepped(1));
    await log.write();
    tree.ending = { status: 'failed', slugs: ['budget_exhausted'] };
    log.note(stepped(2));
    await log.write();
    await log.end(tree.ending);
    expect(journal.appends.map(({ change }) => change?.status)).toEqual([undefined, 'failed']);
    expect(await journal.list({})).toMatchObject([{ status: 'failed', slugs: ['budget_exhausted'] }]);
  });

  it('D-5c: an end whose facts could not be written is written later, and its owner learns so', async () => {
    const { journal, log, tree } = logged();
    log.note(stepped(1));
    await log.write();
    tree.ending = { status: 'succeeded', slugs: [] };
    log.note(stepped(2));
    const append = vi.spyOn(journal, 'append').mockRejectedValueOnce(new PawlError('journal_failed', 'Away.'));
    await expect(log.write()).rejects.toThrow('Away.');
    await expect(log.end(tree.ending)).rejects.toThrow('Away.');
    await expect.poll(async () => (await journal.list({}))[0]?.status).toBe('succeeded');
    expect(append).toHaveBeenCalledTimes(2);
  });

  it('D-5c: an end that is told during a write that fails is written later, after it', async () => {
    const { journal, log, tree } = logged();
    log.note(stepped(1));
    await log.write();
    const failing = Promise.withResolvers<void>();
    vi.spyOn(journal, 'append').mockReturnValueOnce(failing.promise);
    log.note(stepped(2));
    const written = log.write();
    await new Promise(setImmediate);
    tree.ending = { status: 'succeeded', slugs: [] };
    log.note(stepped(3));
    const ended = log.end(tree.ending);
    failing.reject(new PawlError('journal_failed', 'Away.'));
    await expect(written).rejects.toThrow('Away.');
    await expect(ended).rejects.toThrow('Away.');
    await expect.poll(async () => (await journal.list({}))[0]?.status).toBe('succeeded');
    expect((await journal.read('s')).map((entry) => 'seq' in entry && entry.seq)).toEqual([1, 2, 3]);
  });

  it('with the calls that wait, when they change', async () => {
    const { journal, log, tree } = logged();
    const waited = async (...calls: string[]) => {
      tree.waiting = waitingCalls('s', calls);
      await log.write();
      return journal.appends.map(({ change }) => change?.waitingCalls?.map(({ callId }) => callId) ?? null);
    };
    log.note(stepped());
    expect(await waited()).toEqual([null]);
    expect(await waited('a')).toEqual([null, ['a']]);
    expect(await waited('a')).toEqual([null, ['a']]);
    expect(await waited('b')).toEqual([null, ['a'], ['b']]);
    expect(await waited('b', 'c')).toEqual([null, ['a'], ['b'], ['b', 'c']]);
    expect(await waited('b', 'd')).toEqual([null, ['a'], ['b'], ['b', 'c'], ['b', 'd']]);
  });

  it('and a session that is resumed writes on, with its calls', async () => {
    const { journal, log, tree } = logged({ recorded: [stepped()] });
    await journal.create(session, { owner: 'me', entries: [stepped()], change: {} });
    tree.waiting = [];
    await log.write();
    expect(log.isBegun).toBe(true);
    expect(journal.appends.slice(1)).toMatchObject([{ after: 1, entries: [], change: { waitingCalls: [] } }]);
  });
});

describe('D-3: notes are joined and left out', () => {
  it('adjacent deltas of a part are one', async () => {
    const { log, entries } = logged();
    log.note(delta(1, 'a'));
    log.note(delta(2, 'b'));
    log.note(delta(3, 'cd', { part: 1 }));
    log.note(delta(5, 'e', { part: 1, attempt: 2 }));
    log.note(delta(6, 'f', { part: 1, attempt: 2, turn: 2 }));
    log.note(delta(9, 'g', { part: 1, attempt: 2, turn: 2 }));
    log.note(delta(10, 'h', { part: 1, attempt: 2, turn: 2 }, 'sub'));
    log.note(progress(11, 'c', 1));
    log.note(delta(12, 'i'));
    log.note(stepped(13));
    log.note(delta(14, 'j'));
    await log.write();
    const told = entries().map((entry) =>
      entry.type === 'sighted' && entry.sighting.type === 'model.delta'
        ? [entry.seq, entry.at, entry.sighting.delta]
        : entry.type,
    );
    expect(told).toEqual([
      [1, 2, 'ab'],
      [3, 3, 'cd'],
      [5, 5, 'e'],
      [6, 6, 'f'],
      [9, 9, 'g'],
      [10, 10, 'h'],
      'sighted',
      [12, 12, 'i'],
      'stepped',
      [14, 14, 'j'],
    ]);
  });

  it('what else is sighted of a call stays', async () => {
    const { log, entries } = logged();
    const child = { callId: 'c', name: 'helper', childSessionId: 's/c' };
    const sighted = (seq: number, sighting: object) => ({ ...progress(seq, 'c', 1), sighting }) as Sighted;
    log.note(sighted(1, { type: 'subAgent.started', ...child }));
    log.note(progress(2, 'c', 1));
    log.note(sighted(3, { type: 'subAgent.ended', ...child }));
    await log.write();
    expect(entries().map((entry) => (entry as { seq: number }).seq)).toEqual([1, 2, 3]);
  });

  it('of the preliminary outputs of a call, only the latest is left', async () => {
    const { log, entries } = logged();
    for (const [seq, callId, output, scope] of [
      [1, 'a', 1, ''],
      [2, 'b', 2, ''],
      [3, 'a', 3, ''],
      [4, 'a', 4, 'sub'],
    ] as const)
      log.note(progress(seq, callId, output, scope));
    await log.write();
    expect(entries().map((entry) => (entry as { seq: number }).seq)).toEqual([2, 3, 4]);
  });

  it('many characters are written at once', async () => {
    const { journal, log } = logged();
    log.note(stepped());
    await log.write();
    log.note(delta(2, 'x'.repeat(65_536)));
    await log.write();
    expect(journal.appends).toHaveLength(2);
    log.note(delta(100_000, 'x'.repeat(40_000)));
    log.note(delta(140_000, 'x'.repeat(25_536)));
    await new Promise(setImmediate);
    expect(journal.appends).toHaveLength(2);
    log.note(delta(165_536, 'x'));
    await expect.poll(() => journal.appends.length).toBe(3);
  });

  it('a list of tools is noted once, and has its number again when the session is resumed', async () => {
    const tool = (name: string) => [{ type: 'function' as const, name, inputSchema: { type: 'object' as const } }];
    const { log, entries } = logged();
    const list = tool('one');
    expect([log.offered('', []), log.offered('', list), log.offered('', list), log.offered('', tool('one'))]).toEqual([
      null,
      0,
      0,
      0,
    ]);
    expect([log.offered('sub', tool('two')), log.offered('', list)]).toEqual([1, 0]);
    await log.write();
    expect(entries()).toMatchObject([
      { scope: '', type: 'offered', number: 0 },
      { scope: 'sub', type: 'offered', number: 1 },
    ]);
    const resumed = logged({ recorded: [1, 2, 3].map((seq) => stepped(seq)).concat(entries()) }).log;
    expect(['one', 'two', 'three'].map((name) => resumed.offered('', tool(name)))).toEqual([0, 1, 2]);
  });
});

describe('D-4: messages of other processes', () => {
  it('are taken in once, and taken with the next write; not before they are listened to', async () => {
    const { journal, log, got, forScope } = logged({ leaseMs: 40 });
    log.note(stepped());
    await log.write();
    await journal.post('s', { type: 'stop' } as unknown as SessionMessage);
    const first = await log.messages();
    log.listen(first);
    await expect.poll(() => journal.inbox('s')).toEqual([]);
    expect(got).toHaveLength(1);
    const ids: number[] = [];
    forScope({ receives: (id: number) => void ids.push(id) } as unknown as ScopeLog);
    await journal.post('s', { type: 'abort' } as unknown as SessionMessage);
    await expect.poll(() => ids).toEqual([2]);
    const { renewals } = journal;
    await expect.poll(() => journal.renewals).toBeGreaterThan(renewals + 1);
    // It waits for the delivery that holds it.
    expect([got.length, ids, (await journal.inbox('s')).length]).toEqual([2, [2], 1]);
    log.took(2);
    await log.write();
    expect(await journal.inbox('s')).toEqual([]);
  });
});

describe('D-3: a journal that fails', () => {
  it('stops everything, once, and says why', async () => {
    const { journal, log, tree } = logged();
    log.note(stepped());
    await log.write();
    journal.append = () => Promise.reject(new Error('the disk is full'));
    log.note(stepped(2));
    await expect(log.write()).rejects.toThrow('the disk is full');
    expect(log.isClosed).toBe(true);
    log.fail(new Error('again'));
    expect(tree.failures).toMatchObject([
      { code: 'journal_failed', message: 'the disk is full', cause: expect.any(Error) },
    ]);
    await expect(log.write()).rejects.toThrow('the disk is full');
    await log.leave();
    expect(await journal.lease('s', 'another')).toBe(true);
  });

  it('a session that another process took is no longer written', async () => {
    const { journal, log, tree } = logged({ leaseMs: 40 });
    log.note(stepped());
    await log.write();
    journal.renew = async () => false;
    await expect.poll(() => tree.failures.length).toBe(1);
    expect(tree.failures[0]).toMatchObject({ name: 'PawlError' });
    expect(tree.failures[0]).toBeInstanceOf(PawlError);
    expect(log.isClosed).toBe(true);
  });

  it('an inbox that cannot be read is told once per outage; steps without effects are written meanwhile', async () => {
    const { journal, log, tree, entries } = logged({ leaseMs: 40 });
    log.note(stepped());
    await log.write();
    log.listen();
    const inbox = journal.inbox.bind(journal);
    let asked = 0;
    journal.inbox = () => {
      asked += 1;
      return Promise.reject(new Error('unreachable'));
    };
    await expect.poll(() => asked).toBeGreaterThan(2);
    expect(tree.troubles).toHaveLength(1);
    journal.inbox = inbox;
    log.note(stepped(2));
    await expect.poll(() => entries().length).toBe(2);
    // Deltas wait for the next write.
    const { renewals } = journal;
    log.note(delta(3, 'x'));
    await expect.poll(() => journal.renewals).toBeGreaterThan(renewals + 1);
    expect(entries()).toHaveLength(2);
    await log.end({ status: 'succeeded', slugs: [] });
    expect(journal.appends.at(-1)).toMatchObject({ entries: [{ seq: 3 }], change: { status: 'succeeded' } });
    await log.end({ status: 'failed', slugs: [] });
    expect(journal.appends.filter(({ change }) => change?.status !== undefined)).toHaveLength(1);
    expect(log.isClosed).toBe(true);
  });
});
