import type { ShownRecording } from '../recorded/shown-recording.ts';

/** A request of the bound: one that was sent, one that may still be, or one that a collapse took away (B-4). */
export type GaugeBox = 'running' | 'succeeded' | 'failed' | 'free' | 'taken';

export type Gauge = { requests: number; bound: number; boxes: GaugeBox[] };

/** The bound of a session at some moment (B-2): what was sent, what is free and what a collapse took, in this order. */
export function gaugeAt(recorded: ShownRecording, told: number, scope = ''): Gauge {
  const head = recorded.heads.get(scope);
  const { maxTurns, maxRetries } = head?.input.bound ?? { maxTurns: 0, maxRetries: 0 };
  const bound = maxTurns * maxRetries;
  const sent: GaugeBox[] = [];
  let taken = 0;
  for (let number = 0; number < told; number += 1) {
    const one = recorded.told[number];
    if (one === undefined || one.scope !== scope) continue;
    if (!('fact' in one)) {
      // A summary is a request of the bound as well (T-9).
      if ('sighting' in one && one.sighting.type === 'summary.requested') sent.push('running');
      continue;
    }
    const { fact } = one;
    if (fact.type === 'attempt.started') sent.push('running');
    if (fact.type === 'conversation.compacted' && fact.asked !== null) sent[sent.length - 1] = 'succeeded';
    if (fact.type === 'compaction.failed' && fact.asked !== null) sent[sent.length - 1] = 'failed';
    if (fact.type === 'attempt.failed' || fact.type === 'attempt.aborted') sent[sent.length - 1] = 'failed';
    if (fact.type === 'attempt.progressed' || fact.type === 'attempt.finished') sent[sent.length - 1] = 'succeeded';
    if (fact.type === 'session.collapsed') taken += (fact.from - fact.to) * maxRetries;
  }
  const free = Math.max(0, bound - sent.length - taken);
  return {
    requests: sent.length,
    bound,
    boxes: [
      ...sent,
      ...Array<GaugeBox>(free).fill('free'),
      ...Array<GaugeBox>(bound - sent.length - free).fill('taken'),
    ],
  };
}
