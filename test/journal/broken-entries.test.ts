import { tool } from 'ai';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
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
const asked = { calls: [{ name: 'helper', input: { prompt: 'Help.', reason: 'Two see more.' } }] };
const agentOf = () => {
  const helper = defineAgent({ name: 'helper', models: [rehearsalModel([report()])] });
  const models = [rehearsalModel([call, {}, asked, report()])];
  return defineAgent({ name: 'a', models, tools: { echo }, agents: { helper } });
};

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
    forked: async (broken) => forkSession(await kept(broken), 's', { at: 'turn-2' }),
    'played for the inspector': async (broken) => new Replayer().play(broken),
    'shown in a file': async (broken) => sessionFile(broken),
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
      // One that never ends is told with its entry.
      { numRuns: name === 'shown in a file' ? 60 : 300, timeout: 20_000, endOnFailure: true },
    );
  });

  it.each<[string, Place, unknown, string]>([
    ['a null entry', [2], null, 'Entry 3 of the journal is malformed.'],
    ['an entry without its scope', [1, 'scope'], missing, 'Entry 2 of the journal is malformed.'],
    ['an entry without what it holds', [3, 'delivery'], [], 'Entry 4 of the journal is malformed.'],
    ['a delivery without an outcome', [3, 'delivery', 'outcome'], 'x', 'Entry 4 of the journal is malformed.'],
    ['a head that is not an object', [0, 'head'], 'x', 'Entry 1 of the journal is malformed.'],
    [
      'a head without its tools',
      [0, 'head', 'tools'],
      missing,
      'The journal of the session s cannot be used: `head.tools` is required',
    ],
    [
      'a head whose bound is broken',
      [0, 'head', 'input', 'bound', 'maxTurns'],
      'x',
      '`head.input.bound.maxTurns` must be a number; got "x".',
    ],
    ['no start', [0], missing, 'The journal of the session s does not begin with its start.'],
  ])('%s is named', async (_, place, value, message) => {
    const refused = { code: 'invalid_journal', message: expect.stringContaining(message) };
    await expect(resumed(withAt(entries, place, value))).rejects.toMatchObject(refused);
    if (message.startsWith('Entry'))
      await expect(acts.replayed?.(withAt(entries, place, value))).rejects.toMatchObject(refused);
  });

  it('a step without what led to it is refused', async () => {
    const keyOf = (entry: JournalEntry) =>
      entry.type === 'delivered' && entry.scope === '' && 'key' in entry.delivery ? entry.delivery.key : null;
    for (const key of ['turn-1/attempt-1/model', 'close']) {
      const at = entries.findLastIndex((entry) => keyOf(entry) === key);
      const step = entries.findIndex(({ type, scope }, index) => index > at && type === 'stepped' && scope === '');
      const facts = (entries[step] as { facts: string }).facts;
      const broken = withAt(entries, [at], missing);
      expect(await acts.replayed?.(broken)).toMatchObject({
        difference: { entry: step, recorded: facts, replayed: '' },
      });
      await expect(resumed(broken)).rejects.toMatchObject({
        code: 'invalid_journal',
        message: `The journal of the session s cannot be replayed: entry ${step} says "${facts}", and the machines say "".`,
      });
    }
  });

  it('another version of the machines is reported before malformed fields', async () => {
    const other = withAt(withAt(entries, [0, 'head', 'machines'], '0'), [0, 'head', 'tools'], missing);
    await expect(resumed(other)).rejects.toMatchObject({ code: 'machines_changed' });
  });
});
