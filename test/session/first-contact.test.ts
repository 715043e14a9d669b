import { describe, expect, it } from 'vitest';
import { defineAgent, startSession } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { endsOf, heldModel } from '../support/held-model.ts';
import { until } from '../support/journaled.ts';

const quiet = { logger: false } as const;

describe('P-7d: first contact with a target', () => {
  it('a target that has refused nothing for a second gets twice as many', async () => {
    const { model, seen, letGo } = heldModel();
    const clock = manualClock({ hold: true });
    const agent = defineAgent({ name: 'many', models: [model] });
    const sessions = Array.from({ length: 100 }, () => startSession(agent, { prompt: 'Go.', clock, ...quiet }));
    for (const open of [12, 24, 48, 96, 100]) {
      await until(() => seen.open === open);
      clock.advance(1_000);
    }
    for (const _ of sessions) await letGo();
    const ended = await endsOf(sessions);
    expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 'succeeded'));
    expect(seen.most).toBe(100);
  });

  it('a target that many fall back to gets no burst: who may meet a crowd there asks first', async () => {
    const [down, held] = [heldModel({ isDown: true, modelId: 'down' }), heldModel()];
    const clock = manualClock({ hold: true });
    const agent = defineAgent({ name: 'falls-back', models: [down.model, held.model] });
    const sessions = Array.from({ length: 60 }, () => startSession(agent, { prompt: 'Go.', clock, ...quiet }));
    for (const open of [12, 24, 48, 60]) {
      await until(() => down.seen.open === open);
      clock.advance(1_000);
    }
    for (const _ of sessions) await down.letGo();
    await until(() => sessions.every(({ counters }) => counters.attempts === 2 || counters.admissions > 0));
    // The first twelve sessions had met no crowd.
    expect(held.seen.open).toBeLessThanOrEqual(24);
    for (const _ of sessions) await held.letGo();
    const ended = await endsOf(sessions);
    expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 'succeeded'));
  });

  it('a place that is held while a turn is prepared counts from its request on', async () => {
    const { model, seen, letGo } = heldModel();
    const clock = manualClock({ hold: true });
    const { promise: prepared, resolve: goOn } = Promise.withResolvers<void>();
    let preparing = 0;
    const prepareTurn = async () => {
      preparing += 1;
      await prepared;
      return {};
    };
    const agent = defineAgent({ name: 'prepares', models: [model], prepareTurn });
    const sessions = Array.from({ length: 40 }, () => startSession(agent, { prompt: 'Go.', clock, ...quiet }));
    await until(() => preparing === 40);
    clock.advance(5_000);
    goOn();
    await until(() => sessions.every(({ counters }) => counters.attempts === 1 || counters.admissions === 1));
    expect(seen.open).toBe(12);
    for (const _ of sessions) await letGo();
    const ended = await endsOf(sessions);
    expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 'succeeded'));
  });
});
