import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { PawlError } from '../../src/index.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { acts, missing, placesIn, wholeEntries, withAt } from '../support/broken-entries.ts';

describe('D-3: whatever stands in a journal', () => {
  let entries: JournalEntry[];
  beforeAll(async () => {
    entries = await wholeEntries();
  });

  it.each([
    ['callId', ''],
    ['callId', 'call-1-0'],
    ['parent', 'call-1-0'],
  ])("a sub-agent's session that is cut off, whose head has another call (%s: %j), is refused", async (name, value) => {
    const start = entries.findIndex(({ type, scope }) => type === 'started' && scope !== '');
    const broken = withAt(entries, [start, 'head', 'call', name], value).slice(0, start + 6);
    await expect(acts.resumed?.(broken)).rejects.toMatchObject({ code: 'invalid_journal' });
  });

  it.each([
    ['no `ok`', {}],
    ['a failure without a slug', { ok: false }],
    ['an unknown slug', { ok: false, slug: 'x' }],
  ])('a session whose last entry is an outcome with %s is refused', async (_, outcome) => {
    const place = entries.findIndex((entry) => entry.type === 'delivered' && 'outcome' in entry.delivery);
    const broken = withAt(entries, [place, 'delivery', 'outcome'], outcome).slice(0, place + 1);
    await expect(acts.resumed?.(broken)).rejects.toMatchObject({
      code: 'invalid_journal',
      message: expect.stringContaining(`Entry ${place + 1} of the journal is malformed.`),
    });
  });

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
});
