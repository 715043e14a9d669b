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

  it('keep every promise when a random half of what goes wrong does not: what is left meets more often', async () => {
    const tally = await simulated(1, 1, (sessions) => sessions === 60, 'memory', 'swarm');
    expect(tally.failures.map(shown)).toEqual([]);
  });

  it('come to an end once nothing goes wrong: two requests for each session of a tree', async () => {
    const tally = await simulated(1, 1, (sessions) => sessions === 100, 'memory', 'calm');
    expect(tally.failures.map(shown)).toEqual([]);
    // They become calm while they run, and some have requests left to send.
    const calm = await Promise.all([3, 5, 8, 9, 12].map((seed) => simulatedAgain(seed, 'memory', 'calm')));
    expect(calm.filter(({ sentWhenCalm }) => sentWhenCalm !== null).length).toBeGreaterThan(1);
  });

  it('B-2 P-1 P-3 S-5: keep every promise when their models are asked over HTTP', async () => {
    const tally = await simulated(1, 1, (sessions) => sessions === 60, 'wire');
    expect(tally.failures.map(shown)).toEqual([]);
  });

  it('D-3 D-4: keep every promise when their journal is a file, and the power fails', async () => {
    // From a seed on in whose sessions each fate comes up.
    const tally = await simulated(18_001, 1, (sessions) => sessions === 100, 'disk');
    expect(tally.failures.map(shown)).toEqual([]);
    for (const fate of ['lost', 'torn', 'torn, with garbage'])
      expect([fate, tally.troubles[`what was not acknowledged is ${fate}`]]).toEqual([fate, expect.any(Number)]);
  });

  it.each([
    ['memory', 200],
    ['wire', 30],
    ['disk', 50],
  ] as const)('keep every promise with other seeds each day, too: %s', async (mode, count) => {
    // A failure prints the decisions that lead to it.
    const day = Math.floor(Date.now() / 86_400_000);
    const tally = await simulated(day * 1_000, 1, (sessions) => sessions === count, mode);
    expect(tally.failures.map(shown)).toEqual([]);
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
      '1.0.0.0.0.0.0.0.0.0.0.6.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.u.1.3.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.r8';
    const { transcript } = await keepsPromises(word);
    expect(transcript.slice(-2).map((line) => line.slice(13).trim())).toEqual([
      'session.aborted',
      'the tool deaf ends',
    ]);
  });

  it('D-2: a server over HTTP hears of a cancellation before the end of its session', async () => {
    const word =
      '6.2.2.0.0.0.2.0.1m.3.0.8.7.0.7.0.1h.1d.od.2b.0.n.qa.1i.0.1l.ac.c9.9g.l1.hf.g8.1g.0.1g.2q.2.m6.1j.0.r.mn.h.0.2c.19.e5.15.0.2b.1a.h.0.1d.hy.1z.0.1t.du.7.0.ga.bm.24.bm.ct.qm.s0.1s.0.n.1d.1t.1h.0.2.m.4.15.p.0.7.bz.1z.0.1.1b.n7.1o.0.1h.ga.16.0.hr.w.0.a3.3j.bc.64.82.n.0.7c.pb.17.69.gi.cc.5y.2r.gd.i5.69.bl.2p.2m.0.hs.14.0.1k.2j.0.1.27.n0.1z.0.2b.w.22.1u.0.e9.b.0.22.l.11.1b.0.l.9o.2r.d.eo.pg.6x.27.28.1.f.2b.0.1o.2.1.4.9.a.8g.s.0.2d.z.et.1e.0.17.cz.14.0.h.14.0.r.27.ce.28.0.13.bt.1n.0.1f.1a.91.5.0.2q.4u.l8.1k.0.2u.1n.0.1e.u.q0.16.0.27.6q.e.0.0.2l.2v.2s.29.0.og.18.0.gy.23.0.kj.1s.1.5j.3.0.pn.rq.gw.d1.j2.gy.oc.lc.ii.1y.0.ht.4g.2e.0.hv.pz.73.j3.hj.i9.9e.28.0.p.14.21.1b.2.8.3.2.u.2n.mj.s.0.1j.6u.29.0.1m.g.0.8.n.9i.w.0.2l.v.p.2h.0.op.1x.0.c.2q.1.iw.4.0.26.c8.1k.0.r3.j8.c.2.iu.11.0.9g.22.0.em.a1.pu.87.jj.hv.6c.f5.p5.1.0.21.2q.fv.r9';
    const { transcript } = await keepsPromises(word, 'wire');
    expect(transcript.map((line) => line.slice(13).trim())).toContain('session.aborted');
  });
});
