import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { LiveTape, type TapePiece } from '../../src/inspect/live/live-tape.ts';
import { WatchedJournal } from '../../src/inspect/live/watched-journal.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { startSession } from '../../src/session/start-session.ts';
import { quiet, workingAgent } from '../support/journaled.ts';
import { waitingCalls } from '../support/waiting-calls.ts';

const secret = 'open-sesame';
const session = { sessionId: 's', agent: 'working', metadata: { of: secret } };

/** The entries of a whole session, whose prompt holds a secret. */
let whole: JournalEntry[];
beforeAll(async () => {
  const journal = new MemoryJournal();
  await startSession(workingAgent().agent, { prompt: `Say ${secret}.`, ...quiet(journal) }).result;
  whole = JSON.parse(JSON.stringify(await journal.read('s')));
});

let store: MemoryJournal;
let journal: WatchedJournal;
let tape: LiveTape;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  store = new MemoryJournal();
  journal = new WatchedJournal(store);
  await store.create(session, { owner: 'me', entries: whole.slice(0, 3) });
  tape = new LiveTape(journal, 's', () => [secret]);
});
afterEach(() => {
  tape.close();
  const left = vi.getTimerCount();
  vi.useRealTimers();
  expect(left).toBe(0);
});

async function read(from = 0): Promise<{ pieces: TapePiece[]; leave: () => void }> {
  const pieces: TapePiece[] = [];
  const leave = await tape.join((piece) => pieces.push(piece), from);
  return { pieces, leave };
}

/** Writes more of the session, through the journal that is watched or behind its back. */
const write = (to: MemoryJournal | WatchedJournal, from: number, end: number, change = {}) =>
  to.append('s', { owner: 'me', after: from, entries: whole.slice(from, end), change });

/** What a reader was sent, in short. */
const inShort = (pieces: readonly TapePiece[]) =>
  pieces.map((piece) => {
    if ('entries' in piece) return `${piece.after}+${piece.entries.length}`;
    if ('row' in piece) return `${piece.row.status} ${piece.row.waiting.join()}`.trim();
    return piece;
  });

const delta = (text: string, own: object = {}): JournalEntry => ({
  scope: '',
  type: 'sighted',
  seq: 1,
  at: 1,
  sighting: {
    ...{ type: 'model.delta', turn: 1, attempt: 1, part: 0, kind: 'text', delta: text },
    ...{ callId: null, toolName: null },
    ...own,
  },
});

const settled = () => vi.advanceTimersByTimeAsync(0);

describe('S-8: a tape of a session that runs', () => {
  it('begins with the row and the entries that the reader has not, both without secrets', async () => {
    const { pieces } = await read();
    expect(pieces).toEqual([
      { row: expect.objectContaining({ sessionId: 's', status: 'running', metadata: { of: '[redacted]' } }) },
      { after: 0, entries: [expect.anything(), expect.anything(), expect.anything()], redacted: 1 },
    ]);
    expect(JSON.stringify(pieces)).not.toContain(secret);
    expect(inShort((await read(2)).pieces)).toEqual(['running', '2+1']);
  });

  it('is empty for a session that is not there', async () => {
    tape.close();
    tape = new LiveTape(journal, 'nosuch', () => []);
    expect((await read()).pieces).toEqual([{ after: 0, entries: [], redacted: 0 }]);
  });

  it('tells every reader at once what is written', async () => {
    const [one, other] = [await read(), await read(3)];
    const reads = vi.spyOn(store, 'read');
    await write(journal, 3, 5);
    await write(journal, 5, 6);
    await settled();
    expect(inShort(one.pieces)).toEqual(['running', '0+3', '3+2', '5+1']);
    expect(inShort(other.pieces)).toEqual(['running', '3+0', '3+2', '5+1']);
    // What was heard is not read again.
    expect(reads).not.toHaveBeenCalled();
    one.leave();
    await write(journal, 6, 8);
    await settled();
    expect([one.pieces.length, inShort(other.pieces).at(-1)]).toEqual([4, '6+2']);
  });

  it('looks 4 times a second for what other processes write, while it has readers', async () => {
    const { pieces, leave } = await read();
    await write(store, 3, 5);
    await vi.advanceTimersByTimeAsync(249);
    expect(pieces).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(inShort(pieces)).toEqual(['running', '0+3', '3+2']);
    await write(store, 5, 6);
    await vi.advanceTimersByTimeAsync(250);
    expect(inShort(pieces).slice(3)).toEqual(['5+1']);
    leave();
    await vi.advanceTimersByTimeAsync(250);
    expect(vi.getTimerCount()).toBe(0);
    await write(store, 6, 8);
    const again = await read(6);
    expect(inShort(again.pieces)).toEqual(['running', '6+2']);
    expect(vi.getTimerCount()).toBe(1);
  });

  it('reads the journal where it heard only a part', async () => {
    const { pieces } = await read();
    await write(store, 3, 5);
    await write(journal, 5, 6);
    await settled();
    expect(inShort(pieces)).toEqual(['running', '0+3', '3+3']);
    await write(journal, 6, 8);
    await settled();
    expect(inShort(pieces).at(-1)).toBe('6+2');
    const [last] = pieces.slice(-1);
    expect(last).toMatchObject({ entries: whole.slice(6, 8).map(({ type }) => ({ type })) });
  });

  it('tells the row again when the status, or what it waits for, has changed', async () => {
    const { pieces } = await read();
    await write(journal, 3, 4, { waitingCalls: waitingCalls('s', ['call-1']) });
    await settled();
    await write(journal, 4, 5);
    await settled();
    await write(journal, 5, whole.length, { waitingCalls: [], status: 'succeeded' });
    await settled();
    const rest = whole.length - 5;
    expect(inShort(pieces)).toEqual(['running', '0+3', '3+1', 'running call-1', '4+1', `5+${rest}`, 'succeeded']);
  });

  it('is idle while no one reads it or is about to', async () => {
    expect(tape.isIdle).toBe(true);
    const joining = read();
    expect(tape.isIdle).toBe(false);
    const { leave } = await joining;
    expect(tape.isIdle).toBe(false);
    leave();
    expect(tape.isIdle).toBe(true);
  });
});

describe('S-8: a reply that arrives', () => {
  it('is told every 40 ms as a whole so far, without its last word and without secrets', async () => {
    const { pieces } = await read();
    journal.noted('s', delta(`It is ${secret} and`));
    journal.noted('s', delta(' more'));
    await vi.advanceTimersByTimeAsync(39);
    expect(pieces).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    const arriving = { scope: '', turn: 1, attempt: 1, part: 0, kind: 'text' };
    expect(pieces.slice(2)).toEqual([{ arriving: { ...arriving, text: 'It is [redacted] and ' } }]);
    journal.noted('s', delta(' words. '));
    await vi.advanceTimersByTimeAsync(40);
    expect(pieces.slice(3)).toEqual([{ arriving: { ...arriving, text: 'It is [redacted] and more words. ' } }]);
  });

  it('is told part by part, and only the parts that grew', async () => {
    const { pieces } = await read();
    journal.noted('s', delta('a '));
    journal.noted('s', delta('b ', { part: 1, kind: 'reasoning' }));
    journal.noted('s', delta('c ', { attempt: 2 }));
    journal.noted('s', delta('d ', { turn: 2 }));
    journal.noted('s', { ...delta('e '), scope: 'call' });
    await vi.advanceTimersByTimeAsync(40);
    const told = () => pieces.slice(2).map((piece) => ('arriving' in piece ? piece.arriving.text : piece));
    expect(told()).toEqual(['a ', 'b ', 'c ', 'd ', 'e ']);
    journal.noted('s', delta('f ', { part: 1 }));
    await vi.advanceTimersByTimeAsync(40);
    expect(told().slice(5)).toEqual(['b f ']);
  });

  it('says nothing for another session, or for what is no piece of a reply', async () => {
    const { pieces } = await read();
    journal.noted('other', delta('a '));
    journal.noted('s', { ...delta(''), sighting: { type: 'effect.begun', key: 'k' } } as never);
    for (const entry of whole.slice(0, 3)) journal.noted('s', entry);
    await store.create({ ...session, sessionId: 'other' }, { owner: 'me', entries: [] });
    await journal.append('other', { owner: 'me', after: 0, entries: whole.slice(0, 2) });
    await vi.advanceTimersByTimeAsync(40);
    expect(pieces).toHaveLength(2);
  });
});

describe('S-8: a tape that cannot be read', () => {
  const broken = () => Promise.reject(new Error(`no ${secret}, no entry`));

  it('refuses the reader who comes, and lets the next one try again', async () => {
    vi.spyOn(store, 'list').mockImplementationOnce(broken);
    await expect(read()).rejects.toThrow('no entry');
    expect([tape.isIdle, tape.isOver, vi.getTimerCount()]).toEqual([true, false, 0]);
    expect(inShort((await read()).pieces)).toEqual(['running', '0+3']);
  });

  it('tells its readers why, without secrets, and ends', async () => {
    const { pieces } = await read();
    journal.noted('s', delta('a '));
    vi.spyOn(store, 'list').mockImplementation(broken);
    await vi.advanceTimersByTimeAsync(300);
    expect(pieces.slice(2)).toEqual([
      expect.objectContaining({ arriving: expect.anything() }),
      { failure: 'no [redacted], no entry' },
    ]);
    expect([tape.isOver, tape.isIdle]).toEqual([true, true]);
    const lists = vi.mocked(store.list).mock.calls.length;
    await write(journal, 3, 5);
    await vi.advanceTimersByTimeAsync(300);
    expect([pieces.length, vi.mocked(store.list).mock.calls.length]).toEqual([4, lists]);
  });

  it('is heard no more once it is closed', async () => {
    const { pieces } = await read();
    journal.noted('s', delta('a '));
    tape.close();
    journal.noted('s', delta('b '));
    await write(journal, 3, 5);
    await vi.advanceTimersByTimeAsync(300);
    expect([tape.isOver, pieces.length, vi.getTimerCount()]).toEqual([true, 2, 0]);
  });
});
