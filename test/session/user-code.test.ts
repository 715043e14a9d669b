import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, report, run } from '../support/session.ts';

const never = new Promise<never>(() => undefined);

const rehearsed = (replies: Parameters<typeof rehearsalModel>[0], over: object = {}) =>
  defineAgent({ name: 'hard', models: [rehearsalModel(replies)], ...over });

describe('user code', () => {
  it('B-2: if onDelivery and random throw, each is reported once and nothing is lost', async () => {
    const fails = () => {
      throw new Error('disk full');
    };
    const { result, events } = await run({
      agent: rehearsed([report()]),
      options: { onDelivery: fails, random: fails },
    });
    expect(result.success).toBe(true);
    const failed = events.flatMap((event) => (event.type === 'observer.failed' ? [event.observer] : []));
    expect(failed).toEqual(expect.arrayContaining(['onDelivery', 'random']));
  });

  it.each([Number.NaN, 1, -0.1])('P-3: a random() of %d is reported, and nothing else is lost', async (chance) => {
    const fault = new Error('busy');
    const { result, events } = await run({
      agent: rehearsed([{ throws: fault }, report()]),
      options: { random: () => chance },
    });
    expect(result.success).toBe(true);
    expect(events.filter(({ type }) => type === 'wait.started')).toHaveLength(1);
    const failed = events.find((event) => event.type === 'observer.failed');
    expect(failed).toMatchObject({
      observer: 'random',
      message: expect.stringMatching(/^`random\(\)` must be a number from 0 to below 1; got /),
    });
  });

  it.each([
    ['hang', () => never],
    ['throw', () => Promise.reject(new Error('no sk-abcdefghijklmnop1'))],
    ['return undefined', () => undefined],
  ])('instructions that %s end the session with a report', async (_how, instructions) => {
    const { result } = await run({
      agent: rehearsed([report()], { instructions, limits: { prepareTimeoutMs: 50 } }),
    });
    expect(result.slugs).toEqual(['turn_not_prepared']);
    expect(result.failure?.detail).toContain('instructions() failed');
    expect(JSON.stringify(result)).not.toContain('sk-abcdefghijklmnop1');
    expect(result.counters).toEqual(counters({ slugs: { turn_not_prepared: 1 } }));
  });
});
