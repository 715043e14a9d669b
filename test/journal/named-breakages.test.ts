import { beforeAll, describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { acts, factsOf, missing, type Place, resumed, wholeEntries, withAt } from '../support/broken-entries.ts';

describe('D-3: what is wrong with a journal', () => {
  let entries: JournalEntry[];
  beforeAll(async () => {
    entries = await wholeEntries();
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

  it('D-6c: an end without what led to it is told as it was recorded', async () => {
    const step = entries.findIndex(({ type }) => type === 'stepped');
    const failure = { slugs: ['stopped'], retryAt: null, detail: null };
    const facts = [...factsOf(entries[step]), { type: 'session.failed', turns: 0, failure }];
    const result = await resumed(withAt(entries, [step, 'facts'], facts).slice(0, step + 1));
    expect(result).toMatchObject({ status: 'failed', slugs: ['stopped'] });
  });

  it('a step without what led to it is refused', async () => {
    const keyOf = (entry: JournalEntry) =>
      entry.type === 'delivered' && entry.scope === '' && 'key' in entry.delivery ? entry.delivery.key : null;
    const stepWithout = (key: string) => {
      const at = entries.findLastIndex((entry) => keyOf(entry) === key);
      const step = entries.findIndex(({ type, scope }, index) => index > at && type === 'stepped' && scope === '');
      const facts = factsOf(entries[step])
        .map(({ type }) => type)
        .join(' ');
      return { step, facts, broken: withAt(entries, [at], missing) };
    };
    const model = stepWithout('turn-1/attempt-1/model');
    const refusal = {
      code: 'invalid_journal',
      message: `Entry ${model.step} of the journal cannot be replayed: what it states is not in its delivery, at outcome.reply.`,
    };
    await expect(acts.replayed?.(model.broken)).rejects.toMatchObject(refusal);
    await expect(resumed(model.broken)).rejects.toMatchObject(refusal);
    const close = stepWithout('close');
    const difference = { entry: close.step, recorded: close.facts, replayed: '' };
    expect(await acts.replayed?.(close.broken)).toMatchObject({ difference });
  });

  it('another format is reported before malformed fields', async () => {
    const other = withAt(withAt(entries, [0, 'head', 'format'], 0), [0, 'head', 'tools'], missing);
    await expect(resumed(other)).rejects.toMatchObject({ code: 'machines_changed' });
  });
});
