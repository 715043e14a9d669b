import { tool } from 'ai';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  exportSession,
  forkSession,
  PawlError,
  readSession,
  replaySession,
  resumeSession,
  runSession,
} from '../../src/index.ts';
import { sessionFile } from '../../src/inspect/index.ts';
import { Replayer } from '../../src/inspect/recorded/replayer.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

const echo = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => q });
const call = { text: 'Hm.', calls: [{ name: 'echo', input: { q: 'x' } }] };
const agentOf = () => defineAgent({ name: 'a', models: [rehearsalModel([call, {}, report()])], tools: { echo } });

type Place = readonly (string | number)[];

/** Every place in a value, as the names that lead to it. */
function placesIn(value: unknown, place: Place = []): Place[] {
  const inner =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, one]) => placesIn(one, [...place, name]))
      : [];
  return place.length === 0 ? inner : [place, ...inner];
}

const missing = Symbol('missing');

/** The entries with something else at a place, or nothing. */
function withAt(entries: readonly JournalEntry[], place: Place, value: unknown): JournalEntry[] {
  const copy = JSON.parse(JSON.stringify(entries));
  let at = copy;
  for (const name of place.slice(0, -1)) at = at[name];
  const last = place.at(-1) ?? 0;
  if (value !== missing) at[last] = value;
  else if (Array.isArray(at)) at.splice(Number(last), 1);
  else delete at[last];
  return copy;
}

describe('D-3: whatever stands in a journal', () => {
  let entries: JournalEntry[];
  beforeAll(async () => {
    const journal = new MemoryJournal();
    await runSession(agentOf(), { prompt: 'Go.', journal, sessionId: 's', logger: false });
    entries = JSON.parse(JSON.stringify(await journal.read('s')));
  });
  const kept = async (broken: readonly JournalEntry[]) => {
    const journal = new MemoryJournal();
    await journal.create({ sessionId: 's', agent: 'a', metadata: {} }, { owner: 'o', entries: broken });
    await journal.release('s', 'o');
    return journal;
  };
  const resumed = async (broken: readonly JournalEntry[]) => {
    const session = await resumeSession(agentOf(), { journal: await kept(broken), sessionId: 's', logger: false });
    session.abort();
    await session.result;
  };
  const acts: Record<string, (broken: readonly JournalEntry[]) => Promise<unknown>> = {
    resumed,
    replayed: async (broken) => replaySession(await kept(broken), 's'),
    read: async (broken) => readSession(await kept(broken), 's'),
    exported: async (broken) => exportSession(await kept(broken), 's'),
    forked: async (broken) => forkSession(await kept(broken), 's', { at: 'turn-2' }),
    shown: async (broken) => new Replayer().play(broken),
    filed: async (broken) => sessionFile(broken),
  };

  it.each(Object.keys(acts))('a session is %s, or refused with a PawlError', async (name) => {
    const junk = fc.constantFrom<unknown>(missing, null, 7, -1, '', 'x', true, [], {}, { type: 'x' }, [null]);
    const place = fc.constantFrom(...placesIn(entries));
    // A session that is whole has ended; one that is cut off goes on.
    const length = fc.integer({ min: 1, max: entries.length });
    await fc.assert(
      fc.asyncProperty(place, junk, length, async (at, value, most) => {
        const broken = withAt(entries, at, value).slice(0, most);
        await acts[name]?.(broken).catch((error) => expect(error).toBeInstanceOf(PawlError));
      }),
      { numRuns: name === 'filed' ? 60 : 300 },
    );
  });

  it.each<[string, Place, unknown, string]>([
    ['an entry that is none', [2], null, 'Entry 3 of the journal is not an entry, or not a whole one.'],
    ['an entry without its scope', [1, 'scope'], missing, 'Entry 2 of the journal is not an entry'],
    ['an entry without what it holds', [3, 'delivery'], [], 'Entry 4 of the journal is not an entry'],
    ['a head that is none', [0, 'head'], 'x', 'Entry 1 of the journal is not an entry'],
    ['a head without its tools', [0, 'head', 'tools'], missing, '`head.tools` is required'],
    [
      'a head whose bound is broken',
      [0, 'head', 'input', 'bound', 'maxTurns'],
      'x',
      '`head.input.bound.maxTurns` must be of type number; got "x".',
    ],
    ['no start', [0], missing, 'The journal of the session s does not begin with its start.'],
  ])('%s is named', async (_, place, value, message) => {
    const refused = { code: 'invalid_journal', message: expect.stringContaining(message) };
    await expect(resumed(withAt(entries, place, value))).rejects.toMatchObject(refused);
    if (message.startsWith('Entry'))
      await expect(acts.replayed?.(withAt(entries, place, value))).rejects.toMatchObject(refused);
  });

  it('the version of the machines is told before what another version would have', async () => {
    const other = withAt(withAt(entries, [0, 'head', 'machines'], '0'), [0, 'head', 'tools'], missing);
    await expect(resumed(other)).rejects.toMatchObject({ code: 'machines_changed' });
  });
});
