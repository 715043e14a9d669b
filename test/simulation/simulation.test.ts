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

  it('D-2: a server over HTTP hears of a cancellation before the end of its session', async () => {
    const word =
      '6.2.2.0.0.0.2.0.1m.3.0.8.7.7.0.1h.1d.od.2b.0.n.qa.1i.0.1l.ac.c9.9g.l1.hf.g8.1g.0.1g.2q.2.m6.1j.0.r.mn.h.0.2c.19.e5.15.0.2b.1a.h.0.1d.hy.1z.0.1t.du.7.0.ga.bm.24.bm.ct.qm.s0.1s.0.n.1d.1t.1h.0.2.m.4.15.p.0.7.bz.1z.0.1.1b.n7.1o.0.1h.ga.16.0.hr.w.0.a3.3j.bc.64.82.n.0.7c.pb.17.69.gi.cc.5y.2r.gd.i5.69.bl.2p.2m.0.hs.14.0.1k.2j.0.1.27.n0.1z.0.2b.w.22.1u.0.e9.b.0.22.l.11.1b.0.l.9o.2r.d.eo.pg.6x.27.28.1.f.2b.0.1o.2.1.4.9.a.8g.s.0.2d.z.et.1e.0.17.cz.14.0.h.14.0.r.27.ce.28.0.13.bt.1n.0.1f.1a.91.5.0.2q.4u.l8.1k.0.2u.1n.0.1e.u.q0.16.0.27.6q.e.0.0.2l.2v.2s.29.0.og.18.0.gy.23.0.kj.1s.1.5j.3.0.pn.rq.gw.d1.j2.gy.oc.lc.ii.1y.0.ht.4g.2e.0.hv.pz.73.j3.hj.i9.9e.28.0.p.14.21.1b.2.8.3.2.u.2n.mj.s.0.1j.6u.29.0.1m.g.0.8.n.9i.w.0.2l.v.p.2h.0.op.1x.0.c.2q.1.iw.4.0.26.c8.1k.0.r3.j8.c.2.iu.11.0.9g.22.0.em.a1.pu.87.jj.hv.6c.f5.p5.1.0.21.2q.fv.r9';
    const { transcript } = await keepsPromises(word, 'wire');
    expect(transcript.map((line) => line.slice(13).trim())).toContain('session.aborted');
  });

  it('S-6: a reader gets every event, even if a listener acts while text is held back', async () => {
    const word =
      '2.0.1.2.0.1.1.0.2a.0.6.8.2.0.14.f.ar.b9.9y.ia.4.f3.o.0.28.op.2k.0.2p.1.1z.1.9.7.12.v.1u.0.ex.17.0.nk.1t.0.4j.1p.0.21.ek.g.0.d1.28.0.8z.1h.0.rl.1e.0.y.1u.17.0.fs.25.0.ms.2l.0.hz.13.0.1u.m3.2a.0.8w.13.0.9d.29.0.be.6a.7n.q6.q0.63.bp.pq.cq.b8.fa.f8.0.bm.na.fy.a5.lu.f5.3.kc.b.1.2a.6y.7.1.28.0.1x.2.4.0.6.k.c3.1q.1.e3.0.1.kc.10.1.4a.w.1.1u.4f.1a.1.lr.w.1.ld.1t.0.2q.0.b1.e7.ge.a3.1.l0.1f.1.15.9z.1d.0.md.1m.0.1.14.13.1.4.6.u.2k.bt.1s.0.1d.4x.3.1.fm.m.1.dm.o.0.21.1w.0.ne.17.1.2k.rs.0.1.p1.v.1.6g.26.0.rf.2q.0.a2.1d.0.dg.19.1.1p.5l.f.1.28.27.0.4.o7.2c.0.78.2c.0.2z.2g.3.d1.11.2.r6.l7.en.mu.kn.7.1.ll.3c.ca.ko.c3.mk.68.v.av.ei.46.rv.9.0.kj.1u.1.10.i.1y.1.cq.20.0.2k.or.ik.k5.i7.iy.ix.3.k1.8.0.9k.14.0.gi.4i.1v.om.i3.1c.bc.er.9.0.2e.nc.h.1.1t.2p.2.2b.3.2.1m.42.v.1.cy.15.0.2h.71.3c.3z.h.2c.6w.3.4s.27.1.t.ev.10.0.i0.1r.0.1a.s.2r.n.1r.m1.2q.1.dx.ro';
    const { transcript } = await keepsPromises(word);
    expect(transcript.map((line) => line.slice(13).trim())).toContain('a listener aborts');
  });
});
