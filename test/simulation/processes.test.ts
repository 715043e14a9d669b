import { describe, expect, it } from 'vitest';
import { wordOf } from './choices.ts';
import { shown, simulated, simulatedAgain } from './run.ts';

describe('simulated sessions whose MCP servers are processes', () => {
  it('D-2 S-5: keep every promise, and leave no process behind', async () => {
    const tally = await simulated(1, 1, (sessions) => sessions === 10, 'processes');
    expect(tally.failures.map(shown)).toEqual([]);
    expect(tally.troubles['a server leaves a child behind']).toBeGreaterThan(0);
  });

  it('are identical, step by step, for the same seed or the same decisions', async () => {
    for (const seed of [7, 8, 9]) {
      const one = await simulatedAgain(seed, 'processes');
      expect((await simulatedAgain(seed, 'processes')).transcript).toEqual(one.transcript);
      expect((await simulatedAgain(wordOf(one.decisions), 'processes')).transcript).toEqual(one.transcript);
    }
  });
});
