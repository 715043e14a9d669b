import { describe, expect, it } from 'vitest';
import { notedSecrets } from '../../src/agent/secrets.ts';
import {
  defineAgent,
  type Journal,
  type JournalEntry,
  type JournaledSession,
  runSession,
  type SessionEvent,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { followSession } from '../../src/ui/index.ts';
import { until } from '../support/journaled.ts';
import { report } from '../support/session.ts';

const said = 'Hello, dear world.';

/** A journal that grows each time it is looked at, as another process writes it: first up to the middle of the text. */
async function growing(asked: number[] = []): Promise<Journal> {
  const kept = sqliteJournal(':memory:');
  const agent = defineAgent({ name: 'told', models: [rehearsalModel([{ ...report(), text: said }])] });
  await runSession(agent, { prompt: 'Go.', journal: kept, sessionId: 's', logger: false });
  const entries = await kept.read('s');
  const [row] = await kept.list({ sessionId: 's' });
  const at = entries.findIndex((entry) => entry.type === 'sighted' && 'delta' in entry.sighting);
  const split = halves(entries[at]);
  const whole = [...entries.slice(0, at), ...split, ...entries.slice(at + 1)];
  const written = [at + 1, at + 1, at + 1, at + 2, whole.length];
  let looks = 0;
  const next = () => written[Math.min(looks, written.length - 1)] ?? 0;
  return Object.assign(kept, {
    list: async (): Promise<JournaledSession[]> => {
      looks += 1;
      const status = next() < whole.length ? 'running' : row?.status;
      return row === undefined || status === undefined ? [] : [{ ...row, entries: next(), status }];
    },
    read: async (_: string, after = 0) => {
      asked.push(after);
      return whole.slice(after, next());
    },
  });
}

/** The two halves of a noted text, as two writes have them. */
function halves(entry: JournalEntry | undefined): JournalEntry[] {
  if (entry?.type !== 'sighted' || entry.sighting.type !== 'model.delta') throw new Error('no text was noted');
  const { sighting, seq } = entry;
  const half = sighting.delta.length >> 1;
  return [
    { ...entry, sighting: { ...sighting, delta: sighting.delta.slice(0, half) } },
    { ...entry, seq: seq + half, sighting: { ...sighting, delta: sighting.delta.slice(half) } },
  ];
}

async function read(seq: number): Promise<SessionEvent[]> {
  const journal = await growing();
  const followed = await followSession(journal, 's');
  const events: SessionEvent[] = [];
  for await (const event of followed.eventsFrom(seq)) events.push(event);
  await journal.close();
  return events;
}

const textIn = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'model.delta' && event.kind === 'text' ? [event.delta] : [])).join('');

describe('S-6: a session that another process runs', () => {
  it('each piece of a text is read once, even if the text grows between two looks at the journal', async () => {
    const events = await read(1);
    expect(textIn(events)).toBe(said);
    expect(events.at(-1)?.type).toBe('session.succeeded');
    const seqs = events.map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].toSorted((one, other) => one - other));
  });

  it('only what came since is read each time, and a second reader shares what was played', async () => {
    const asked: number[] = [];
    const journal = await growing(asked);
    const followed = await followSession(journal, 's');
    const readAll = async () => {
      const events: SessionEvent[] = [];
      for await (const event of followed.eventsFrom(1)) events.push(event);
      return [textIn(events), events.at(-1)?.type];
    };
    expect(await readAll()).toEqual([said, 'session.succeeded']);
    const [looked, ...later] = asked.splice(0);
    expect(looked).toBe(0);
    expect(later.map((after, index) => after > 0 && after >= (later[index - 1] ?? 0))).toEqual([true, true]);
    expect(await readAll()).toEqual([said, 'session.succeeded']);
    expect(asked).toEqual([]);
    await journal.close();
  });

  it('a reader that begins in the middle of a text gets the rest of it', async () => {
    const whole = await read(1);
    const first = whole.find(({ type }) => type === 'model.delta')?.seq ?? 0;
    expect(first).toBeGreaterThan(0);
    const rest = await read(first - 1);
    expect(textIn(rest)).toBe(said.slice((said.length >> 1) - 2));
    expect(rest.at(-1)).toMatchObject({ type: 'session.succeeded', seq: whole.at(-1)?.seq });
  });
});

it.each<[string, (entries: JournalEntry[]) => unknown[], string]>([
  ['that the journal does not hold', () => [], 'session_unknown'],
  ['with a broken entry', (entries) => [...entries, { type: 'delivered', scope: '', delivery: 1 }], 'invalid_journal'],
  ['without its beginning', (entries) => entries.slice(1), 'invalid_journal'],
  [
    'of another format',
    ([first, ...rest]) =>
      first?.type === 'started' ? [{ ...first, head: { ...first.head, format: 3 } }, ...rest] : [],
    'machines_changed',
  ],
])('D-6: a session %s is refused at once', async (_, change, code) => {
  const journal = await growing();
  const entries = change(await journal.read('s'));
  const changed = Object.assign(journal, { read: async () => entries as JournalEntry[] });
  await expect(followSession(changed, 's')).rejects.toMatchObject({ code });
  await journal.close();
});

it('D-3: an entry that comes later and is malformed is named', async () => {
  const journal = await growing();
  const { read } = journal;
  let known = 0;
  const broken: JournalEntry = { type: 'delivered', scope: '', delivery: 1 } as never;
  const changed = Object.assign(journal, {
    read: async (sessionId: string, after = 0) => {
      if (after > 0) return [broken];
      const first = await read(sessionId, after);
      known = first.length;
      return first;
    },
  });
  const followed = await followSession(changed, 's');
  const readAll = async () => {
    for await (const _ of followed.eventsFrom(1));
  };
  const { code, message } = await readAll().catch((error) => error);
  expect([code, message]).toEqual(['invalid_journal', `Entry ${known + 1} of the journal is malformed.`]);
  await journal.close();
});

it('positions and what `suspended` returns are checked', async () => {
  const journal = sqliteJournal(':memory:');
  const agent = defineAgent({ name: 'told', models: [rehearsalModel([{ hangs: true }])] });
  const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
  await until(() => session.counters.requests === 1);
  await session.suspend({ graceMs: 0 });
  const followed = await followSession(journal, 's', { suspended: (async () => null) as never });
  for (const seq of [0, -1, Number.NaN, 'x'])
    expect(() => followed.eventsFrom(seq as number)).toThrow(expect.objectContaining({ code: 'invalid_options' }));
  const readAll = async () => {
    for await (const _ of followed.eventsFrom(1));
  };
  await expect(readAll()).rejects.toMatchObject({
    code: 'invalid_options',
    message: 'What `options.suspended` returns must be a session.',
  });
  await journal.close();
});

it('S-5: an inspector in this process knows the secrets of a session that is followed', async () => {
  const journal = await growing();
  await followSession(journal, 's', { secrets: ['larch-lantern-4'] });
  expect(notedSecrets()).toContain('larch-lantern-4');
  await journal.close();
});
