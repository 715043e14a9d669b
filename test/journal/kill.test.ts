import { describe, expect, it } from 'vitest';
import { chances, killedLives } from '../support/kills.ts';

describe('D-3, D-4, B-6: kill -9', () => {
  it('a session with every kind of step, killed three times in a row at random points', async () => {
    for (const seed of [1, 2, 3, 4]) {
      const { broken } = await killedLives({ kills: 3, lifeMs: 350, chance: chances(seed) });
      expect([seed, broken]).toEqual([seed, []]);
    }
  }, 120_000);

  it('three processes that fight for ten sessions, while some are killed', async () => {
    const ids = Array.from({ length: 10 }, (_, index) => `s${index}`);
    const { broken } = await killedLives({ ids, processes: 3, kills: 3, lifeMs: 300, chance: chances(5) });
    expect(broken).toEqual([]);
  }, 120_000);
});
