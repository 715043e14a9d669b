import { describe, expect, it } from 'vitest';
import { cleanRow, soFar } from '../../src/inspect/live/clean.ts';
import { readQuery } from '../../src/inspect/live/query.ts';
import { CountLog } from '../../src/inspect/recorded/counts.ts';
import { seriesValue } from '../../src/inspect/study/series.ts';
import { errorOf } from '../support/temporary.ts';

const fields = { agent: [], slug: [], status: [], target: [], tool: [] };
const nothing = { words: [], fields, facts: [], since: 0 };

describe('a search over sessions', () => {
  it.each([
    ['', nothing],
    ['  ', nothing],
    ['one two', { ...nothing, words: ['one', 'two'].map((text) => ({ text, isPhrase: false })) }],
    ['"one two"', { ...nothing, words: [{ text: 'one two', isPhrase: true }] }],
    ['one\0two', { ...nothing, words: ['one', 'two'].map((text) => ({ text, isPhrase: false })) }],
    ['agent:a agent:b', { ...nothing, fields: { ...fields, agent: ['a', 'b'] } }],
    ['tool:"a b" status:failed', { ...nothing, fields: { ...fields, tool: ['a b'], status: ['failed'] } }],
    ['slug:x target:y', { ...nothing, fields: { ...fields, slug: ['x'], target: ['y'] } }],
    ['rule:B-4 rule:W-2', { ...nothing, facts: [['session.collapsed'], ['incident.noted', 'workItem.created']] }],
    ['tool:""', { ...nothing, fields: { ...fields, tool: [''] } }],
  ])('%j', (text, query) => {
    expect(readQuery(text, 1_000)).toEqual(query);
  });

  it.each([
    ['since:30m', 30 * 60_000],
    ['since:2h', 2 * 3_600_000],
    ['since:1d', 86_400_000],
    ['since:10d', 864_000_000],
  ])('%s', (text, ago) => {
    expect(readQuery(text, 1_000_000_000_000)).toEqual({ ...nothing, since: 1_000_000_000_000 - ago });
  });

  it.each([
    ['colour:red', '`search` must be agent:, slug:, status:, target:, tool:, rule: or since:; got "colour:".'],
    ['constructor:x', '`search` must be'],
    ['since:yesterday', '`since` must be a number of minutes, hours or days, such as 30m, 2h or 1d; got "yesterday".'],
    ['since:1w', '`since` must be'],
    ['since:x1d', '`since` must be'],
    ['since:1dd', '`since` must be'],
    [
      'rule:B-1',
      '`rule` must be one that leaves a fact: B-3, B-4, B-8, F-1, F-2, P-2, P-3, P-7, T-6, T-7, T-9, W-2; got "B-1".',
    ],
    ['rule:toString', '`rule` must be one that leaves a fact'],
  ])('%s is refused', (text, message) => {
    expect(errorOf(() => readQuery(text, 0))).toMatchObject({
      code: 'invalid_options',
      message: expect.stringContaining(message),
    });
  });
});

describe('what a page shows of a session has no secrets (S-5)', () => {
  it('its row: the agent and the metadata, and nothing else changes', () => {
    const row = { sessionId: 's-key', agent: 'a-key', metadata: { token: 'the key', deep: 1 }, status: 'failed' };
    const clean = cleanRow(row as unknown as Parameters<typeof cleanRow>[0], ['key']);
    expect(JSON.stringify(clean)).not.toContain('the key');
    expect(clean.agent).not.toContain('key');
    expect(clean).toMatchObject({ sessionId: 's-key', status: 'failed', metadata: { deep: 1 } });
  });

  it.each([
    ['all is wel', 'all is '],
    ['all is well ', 'all is well '],
    ['', ''],
    ['word', ''],
  ])('a growing text stops before its last word: %j', (text, shown) => {
    expect(soFar(text, [])).toBe(shown);
  });

  it.each([
    ['say open sesame now', /^say (?!open sesame)\S+ $/],
    ['say open ', /^say $/],
    ['say op', /^say $/],
    ['say open sesa', /^say $/],
    ['say open s x', /^say open s $/],
  ])('a secret of several words is not shown in part: %j', (text, shown) => {
    expect(soFar(text, ['open sesame'])).toMatch(shown);
  });
});

describe('the numbers of a session over time', () => {
  const logOf = (count: number) => {
    const log = new CountLog();
    for (let told = 1; told <= count; told += 1) {
      log.takeChange({ scope: '', told, path: told % 2 === 0 ? 'turns' : 'attempts', value: told });
    }
    return log;
  };

  it.each([0, 1, 2, 255, 256, 257, 511, 512, 513, 600])('after %i facts', (told) => {
    const expected = new Map<string, number>();
    for (let one = Math.max(1, told - 1); one <= told; one += 1)
      expected.set(one % 2 === 0 ? 'turns' : 'attempts', one);
    expect(logOf(600).at(told)).toEqual(expected);
  });

  it('after more facts than there are', () => {
    expect(logOf(3).at(99)).toEqual(
      new Map([
        ['attempts', 3],
        ['turns', 2],
      ]),
    );
  });

  it('every value of one number', () => {
    expect(logOf(5).of('turns')).toEqual([
      { told: 2, value: 2 },
      { told: 4, value: 4 },
    ]);
  });

  it('the value of a series is the last one before a step', () => {
    const series = [
      [1, 10],
      [3, null],
      [5, 30],
    ] as [number, number | null][];
    expect([0, 1, 2, 3, 4, 5, 9].map((frame) => seriesValue(series, frame))).toEqual([
      null,
      10,
      10,
      null,
      null,
      30,
      30,
    ]);
  });
});
