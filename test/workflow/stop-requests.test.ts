import { describe, expect, it } from 'vitest';
import { leftOut } from '../../src/workflow/backlog/reading/fences.ts';
import { similarity } from '../../src/workflow/backlog/similarity.ts';
import { stopRequestIn } from '../../src/workflow/backlog/stop-marker.ts';
import { behind } from '../../src/workflow/run/queue.ts';

const request = (text: string) => stopRequestIn(text)?.request;

describe('W-2: STOP in the comments of an item', () => {
  it('its request is without the marks of the STOP', () => {
    for (const line of ['**STOP:** do it', '**STOP**: do it', '__STOP:__ do it'])
      expect(stopRequestIn(line)).toEqual({ request: 'do it', component: null });
    expect(stopRequestIn('STOP: *all* of it')?.request).toBe('*all* of it');
    expect(stopRequestIn('**STOP:**')?.request).toBe('');
    expect(stopRequestIn('<!-- STOP: do it\n-->')?.request).toBe('do it');
  });

  it('at the end of a text whose middle is left out counts, whatever begins before that', () => {
    const end = `\n\n${leftOut(9)}\n\nSTOP: do it`;
    for (const fence of ['', '```\n', '~~~~ts\n']) expect(request(`${fence}text${end}`)).toBe('do it');
    expect(request('```\nSTOP: do it\n')).toBeUndefined();
    expect(request('```\n[some bytes left out]\nSTOP: do it\n')).toBeUndefined();
  });

  it.each([
    ...['STOP', '[STOP]', '**STOP**', '# STOP', '- STOP', '* STOP', '+ STOP', '1. STOP', '12) STOP', '- [ ] STOP'],
    ...[
      '<!-- STOP -->',
      '2026-01-02: STOP',
      '[2026-01-02] STOP',
      '2026-01-02T10:11Z - STOP',
      '2026-01-02 10:11:12.5 STOP',
    ],
    ...[
      '2026-01-02T10:11:12+02:00 – STOP',
      '2026-01-02T10:11-0200 | STOP',
      'Status: STOP',
      '**State** = STOP',
      '- **status:** STOP',
    ],
    ...[
      '## 2026-01-02 — Status: [STOP]',
      '   STOP  ',
      '__STOP__',
      'STOP.',
      'STOP!',
      'STOP - ',
      'STOP:',
      'STOP –',
      'STOP —',
      'STOP,',
    ],
  ])('%j stops the run', (line) => {
    expect(stopRequestIn(`Before.\r\n${line}`)).toEqual({ request: '', component: null });
  });

  it.each([
    ...['STOP-gap', 'STOP the press', 'Stop', 'stop', 'STOPPED', 'NONSTOP', 'Do STOP', '> STOP', 'x: STOP', '[x] STOP'],
    ...['`STOP`', '```\nSTOP\n```', '    2026-1-2: STOP', 'Statuses: STOP', '1 STOP', '2026-01-02STOPS', ''],
  ])('%j does not', (text) => {
    expect(stopRequestIn(text)).toBeNull();
  });

  it.each([
    ['STOP: Do it again.', 'Do it again.'],
    ['STOP - Do it again. --> later', 'Do it again.'],
    ['<!-- STOP: Do it. -->', 'Do it.'],
    ['STOP\n\nFirst.\n\nSecond.\n# Next\nNot this.', 'First.\n\nSecond.'],
    ['STOP: One.\nTwo.', 'One.\nTwo.'],
    ['STOP: One.\n####### no heading\n#nor this', 'One.\n####### no heading\n#nor this'],
    ['Text.\nSTOP: First.\n## Later\nSTOP: Second.', 'First.'],
    ['STOP!!! : … Now', '… Now'],
  ])('%j asks for %j', (text, expected) => expect(request(text)).toBe(expected));

  it.each([
    ['STOP\nComponent: cart\nFix it.', 'cart', 'Fix it.'],
    ['STOP\n- **Component**: _the cart_\nFix it.', 'the cart', 'Fix it.'],
    ['STOP\n* component : **cart**\n', 'cart', ''],
    ['STOP\nComponent:  \nComponent: __two__\nComponent: three', 'two', ''],
    ['STOP\nComponents: cart', null, 'Components: cart'],
    ['STOP\nThe component: cart', null, 'The component: cart'],
    ['STOP\n# Later\nComponent: cart', null, ''],
  ])('%j names the component %j', (text, component, words) => {
    expect(stopRequestIn(text)).toEqual({ request: words, component });
  });
});

describe('W-2: how similar two items are', () => {
  const of = (title: string, description = '') => ({ title, description });

  it('is a number from 0 to 1, based on the words of their titles', () => {
    expect(similarity(of('Cart total'), of('cart, TOTAL!'))).toBe(1);
    expect(similarity(of('abc'), of('xyz'))).toBe(0);
    expect(similarity(of(''), of('?'))).toBe(1);
    expect(similarity(of(''), of('abc'))).toBe(0);
    // `  ab ` and `  ac ` have three pieces each, and one in common.
    expect(similarity(of('ab'), of('ac'))).toBeCloseTo(1 / 3);
    expect(similarity(of('ab ab'), of('ab'))).toBeCloseTo(2 / 3);
    expect(similarity(of('Größe 7'), of('größe 7'))).toBe(1);
  });

  it('counts descriptions for less, and only if both have one', () => {
    expect(similarity(of('abc', 'The same words'), of('xyz', 'the same words'))).toBeCloseTo(0.7);
    expect(similarity(of('abc', ''), of('xyz', ''))).toBe(0);
    expect(similarity(of('abc', ' \n'), of('xyz', ' \n'))).toBe(0);
    expect(similarity(of('abc', 'x'), of('xyz', ' '))).toBe(0);
    expect(similarity(of('abc', 'one'), of('abc', 'two'))).toBe(1);
  });
});

it('W-1: what failed before comes behind what was not tried', () => {
  const items = ['a', 'b', 'c', 'd'].map((id) => ({ id })) as never;
  const tries = new Map([
    ['a', 1],
    ['c', 2],
  ]);
  expect(behind(items, tries).map(({ id }) => id)).toEqual(['b', 'd', 'a', 'c']);
});
