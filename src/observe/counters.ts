import {
  type Counters,
  count,
  countPrefixBreak,
  countSubAgent,
  countSummary,
  countTool,
  emptyCounters,
  type Fact,
} from '../../machines/index.ts';
import type { Fold, Sighting } from './events.ts';
import { PrefixBreaks } from './prefix-breaks.ts';
import type { Records } from './records.ts';

/** A session's counters (S-4). */
export class SessionCounters implements Fold {
  readonly all: Counters = emptyCounters();
  readonly prefix = new PrefixBreaks();
  private readonly records: Records;

  constructor(records: Records) {
    this.records = records;
  }

  fact(fact: Fact): void {
    count(this.all, fact);
    this.prefix.fact(fact);
    const { current: cause } = this.prefix;
    if (fact.type === 'attempt.started' && cause !== null) countPrefixBreak(this.all, cause);
    if (fact.type !== 'tool.answered' || !fact.executed) return;
    const { durationMs, bytes } = this.records.attempt()?.calls[fact.index] ?? { durationMs: 0, bytes: 0 };
    countTool(this.all, fact.name, { failed: fact.slug === null ? 0 : 1, durationMs: durationMs ?? 0, bytes });
  }

  sighting(sighting: Sighting): void {
    if (sighting.type === 'summary.requested') countSummary(this.all);
    if (sighting.type === 'tool.cached') this.all.cacheHits += 1;
    if (sighting.type === 'effect.late') this.all.lateResults += 1;
    this.prefix.sighting(sighting);
    if (sighting.type === 'subAgent.ended') countSubAgent(this.all, sighting.name, sighting.counters);
  }
}
