import { describe, expect, it } from 'vitest';
import { decisionsIn, shrunk, wordOf } from './choices.ts';
import { type Mode, shown, simulated, simulatedAgain } from './run.ts';
import type { Simulated } from './simulate.ts';

/** A session that broke a promise, as `npm run simulate` prints it. */
async function keepsPromises(word: string, mode: Mode = 'memory'): Promise<Simulated> {
  const session = await simulatedAgain(word, mode);
  expect(session.broken).toEqual([]);
  return session;
}

describe('simulated sessions (npm run simulate)', () => {
  it('B-2 B-7 C-1 C-6 D-2 D-3 D-4 N-1 S-2 S-3 S-4 S-5 S-6: keep every promise, whatever happens and when', async () => {
    const tally = await simulated(1, 1, (sessions) => sessions === 400);
    expect(tally.failures.map(shown)).toEqual([]);
    // They meet what they are for.
    expect(Object.keys(tally.statuses).sort()).toEqual(['aborted', 'failed', 'succeeded']);
    const troubles = [
      'a user kills the process',
      'a user takes it over in another process',
      'a listener throws',
      'a model hangs',
      'a stream breaks',
      'a server dies',
    ];
    for (const trouble of troubles)
      expect([trouble, tally.troubles[trouble] ?? 0]).toEqual([trouble, expect.toSatisfy((times) => times > 5)]);
    expect(tally.passedMs).toBeGreaterThan(600_000);
  });

  it('B-2 P-1 P-3 S-5: keep every promise when their models are asked over HTTP', async () => {
    const tally = await simulated(1, 1, (sessions) => sessions === 60, 'wire');
    expect(tally.failures.map(shown)).toEqual([]);
  });

  it('D-3 D-4: keep every promise when their journal is a file, and the power fails', async () => {
    const tally = await simulated(1, 1, (sessions) => sessions === 100, 'disk');
    expect(tally.failures.map(shown)).toEqual([]);
    for (const fate of ['lost', 'torn', 'torn, with garbage'])
      expect([fate, tally.troubles[`what was not acknowledged is ${fate}`]]).toEqual([fate, expect.any(Number)]);
  });

  it.each(['memory', 'wire', 'disk'] as const)(
    'are identical, step by step, for the same seed or the same decisions: %s',
    async (mode) => {
      for (const seed of [7, 8, 9]) {
        const [one, again] = [await simulatedAgain(seed, mode), await simulatedAgain(seed, mode)];
        expect(again.transcript).toEqual(one.transcript);
        expect((await simulatedAgain(wordOf(one.decisions), mode)).transcript).toEqual(one.transcript);
      }
    },
  );

  it('are shrunk to what matters', async () => {
    const decisions = Array.from({ length: 200 }, (_, index) => index);
    const fails = async (fewer: readonly number[]) => fewer.some((value) => value > 150) && fewer.includes(3);
    expect((await shrunk(decisions, fails)).toSorted((one, other) => one - other)).toEqual([3, 151]);
    expect(decisionsIn(wordOf([0, 35, 36, 0, 0]))).toEqual([0, 35, 36]);
  });

  it('D-2: a tool that ignores the abort ends after its session', async () => {
    const word =
      '1.0.0.0.0.0.0.0.0.0.0.6.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.u.1.3.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.r8';
    const { transcript } = await keepsPromises(word);
    expect(transcript.slice(-2).map((line) => line.slice(13).trim())).toEqual([
      'session.aborted',
      'the tool deaf ends',
    ]);
  });

  it('D-2: a server over HTTP that answers a ping with nonsense is told that its session is over', async () => {
    const word =
      '1.0.0.0.0.0.0.0.0.0.0.6.0.6.1m.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.s.2.7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2c.23.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2r.0.0.0.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.2q';
    const { transcript } = await keepsPromises(word, 'wire');
    expect(transcript.map((line) => line.slice(13).trim())).toContain('server.lost');
  });
});
