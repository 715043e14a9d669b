import { type Counters, count, countSubAgent, emptyCounters, type Fact } from '../../machines/index.ts';
import type { Fold, Sighting } from './events.ts';

/** A session's counters (S-4). */
export class SessionCounters implements Fold {
  readonly all: Counters = emptyCounters();

  fact(fact: Fact): void {
    count(this.all, fact);
  }

  sighting(sighting: Sighting): void {
    if (sighting.type === 'effect.late') this.all.lateResults += 1;
    if (sighting.type === 'subAgent.ended') countSubAgent(this.all, sighting.name, sighting.counters);
  }
}
