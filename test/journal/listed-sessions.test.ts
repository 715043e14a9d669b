import { describe, expect, it } from 'vitest';
import type { Journal, JournalEntry, SessionStatus } from '../../src/index.ts';
import { journalFormat as format } from '../../src/journal/journal.ts';
import * as sessions from '../../src/journal/sessions.ts';
import * as tape from '../../src/journal/tape.ts';

type Row = [sessionId: string, status: SessionStatus, updatedAt: number];

/** A journal that holds these sessions, and what it was asked. */
function journalOf(rows: Row[] = [], entries: object[] = []) {
  const asked: unknown[] = [];
  const unused = () => Promise.reject(new Error('not asked for'));
  const journal = {
    ...{ leaseMs: 1, create: unused, append: unused, lease: unused, renew: unused, release: unused, post: unused },
    ...{ inbox: unused, close: async () => {} },
    read: async () => entries as JournalEntry[],
    list: async (query: object) => {
      asked.push(query);
      return rows.map(([sessionId, status, updatedAt]) => ({ sessionId, status, updatedAt }));
    },
    delete: async (sessionId: string) => {
      asked.push(sessionId);
      return sessionId !== 'gone';
    },
  };
  return { journal: journal as unknown as Journal, asked };
}
const refusal = (message: string) => ({ code: 'invalid_options', message: expect.stringContaining(message) });

describe('the sessions of a journal', () => {
  it('are listed by what is asked for', async () => {
    const { journal, asked } = journalOf([['a', 'failed', 1]]);
    const query = {
      idPrefix: 'a',
      status: 'failed',
      slug: 'budget_exhausted',
      since: 0,
      agent: 'x',
      metadata: { t: 'u' },
    } as const;
    expect(await sessions.listSessions(journal, query)).toMatchObject([{ sessionId: 'a' }]);
    await sessions.listSessions(journal);
    expect(asked).toEqual([query, {}]);
  });

  it.each<[object, string]>([
    [{ id: 'a' }, 'Unknown option `query.id`'],
    [{ sessionId: ' ' }, '`query.sessionId`'],
    [{ idPrefix: '' }, '`query.idPrefix`'],
    [{ agent: '' }, '`query.agent`'],
    [{ status: 'over' }, '`query.status` must be one of running, suspended, succeeded, failed, aborted; got "over".'],
    [{ slug: 'tired' }, '`query.slug` must be a slug; got "tired".'],
    [{ since: -1 }, '`query.since` must be a time in epoch ms; got -1.'],
    [{ since: 'today' }, '`query.since` must be a time in epoch ms; got "today".'],
    [{ metadata: { tenant: {} } }, '`query.metadata'],
  ])('%j is no query', async (query, message) => {
    const { journal, asked } = journalOf();
    await expect(sessions.listSessions(journal, query)).rejects.toMatchObject(refusal(message));
    expect(asked).toEqual([]);
    await expect(sessions.listSessions({} as never)).rejects.toMatchObject(refusal('journal'));
  });

  it('are deleted by their id', async () => {
    const { journal, asked } = journalOf();
    expect([await sessions.deleteSession(journal, 'a'), await sessions.deleteSession(journal, 'gone')]).toEqual([
      true,
      false,
    ]);
    expect(asked).toEqual(['a', 'gone']);
    await expect(sessions.deleteSession(journal, '')).rejects.toMatchObject(refusal('sessionId'));
    await expect(sessions.deleteSession({} as never, 'a')).rejects.toMatchObject(refusal('journal'));
  });

  it('are pruned once they have ended and are old', async () => {
    const { journal, asked } = journalOf([
      ['a', 'succeeded', 5],
      ['b', 'failed', 9],
      ['c', 'aborted', 10],
      ['d', 'running', 1],
      ['e', 'suspended', 1],
      ['gone', 'failed', 1],
    ]);
    expect(await sessions.pruneSessions(journal, { before: 10 })).toEqual(['a', 'b']);
    expect(asked).toEqual([{}, 'a', 'b', 'gone']);
    for (const [options, message] of [
      [undefined, '`options`'],
      [{}, '`options.before`'],
      [{ before: -1 }, '`options.before` must be a time in epoch ms; got -1.'],
      [{ before: 1, status: 'failed' }, 'Unknown option `options.status`'],
    ] as const)
      await expect(sessions.pruneSessions(journal, options as never)).rejects.toMatchObject(refusal(message));
    await expect(sessions.pruneSessions({} as never, { before: 1 })).rejects.toMatchObject(refusal('journal'));
  });
});

describe('a session as a file', () => {
  const entries = [{ type: 'started', text: 'two\nlines' }, { type: 'stepped' }];

  it('is its entries, one on each line, below what it is', async () => {
    const text = await sessions.exportSession(journalOf([], entries).journal, 's');
    expect(text).toBe(
      `{"pawl":"session","format":${format}}\n{"type":"started","text":"two\\nlines"}\n{"type":"stepped"}\n`,
    );
    expect(tape.readTape(text)).toEqual(entries);
    await expect(sessions.exportSession(journalOf().journal, 's')).rejects.toMatchObject({ code: 'session_unknown' });
    await expect(sessions.exportSession({} as never, 's')).rejects.toMatchObject(refusal('journal'));
  });

  it.each<[string, string]>([
    ['', 'Line 1 of the exported session cannot be used: it is not the beginning of a session.'],
    ['{"type":"started"}\n', 'Line 1 of the exported session cannot be used: it is not the beginning of a session.'],
    [
      '{"pawl":"run","format":1}\n',
      'Line 1 of the exported session cannot be used: it is not the beginning of a session.',
    ],
    [
      '{"pawl":"session","format":1}\n',
      'Line 1 of the exported session cannot be used: it has format 1, and this release of Pawl reads format',
    ],
    ['{"pawl":"session"}\n', 'it has format undefined'],
    ['{"pawl":"session"}\n{"type":"stepped"}', 'Line 2 of the exported session cannot be used: it is cut off.'],
    ['{"pawl":"session"}\n7\n', 'Line 2 of the exported session cannot be used: it is not an entry.'],
    ['{"pawl":"session"}\nnull\n', 'Line 2 of the exported session cannot be used: it is not an entry.'],
    ['{"pawl":"session"}\n{}\n', 'Line 2 of the exported session cannot be used: it is not an entry.'],
    ['{"pawl":"session"}\n{"type":\n', 'Line 2 of the exported session cannot be used: '],
  ])('%j is not an exported session', (text, message) => {
    expect(() => tape.readTape(text)).toThrow(
      expect.objectContaining({ code: 'invalid_journal', message: expect.stringContaining(message) }),
    );
  });
});
