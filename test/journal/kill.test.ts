import { describe, expect, it } from 'vitest';
import { chances, killedLives } from '../support/kills.ts';

describe('D-3, D-4, B-6: kill -9', () => {
  it('a session with every kind of step, killed three times in a row at random points', async () => {
    const calm = await killedLives({ kills: 0, lifeMs: 0, chance: chances(0) });
    expect(calm.broken).toEqual([]);
    // `npm run verify` tries more.
    for (const seed of process.env.PAWL_WALKS === 'all' ? [1, 2, 3, 4] : [1, 2]) {
      const expected = calm.conversation;
      const { broken } = await killedLives({ kills: 3, lifeMs: 350, chance: chances(seed), expected });
      expect([seed, broken]).toEqual([seed, []]);
    }
  }, 120_000);

  it('three processes that fight for ten sessions, while some are killed', async () => {
    const ids = Array.from({ length: 10 }, (_, index) => `s${index}`);
    const { broken } = await killedLives({ ids, processes: 3, kills: 3, lifeMs: 300, chance: chances(5) });
    expect(broken).toEqual([]);
  }, 120_000);
});
