import type { Fact } from './events.ts';
import { noUsage, type Usage } from './reply.ts';
import type { Slug } from './slugs.ts';

/** What a session did, counted (S-4). Public on the result, and live while it runs. */
export type Counters = {
  /** Turns that began. */
  turns: number;
  /** Attempts that began; each is one LLM request. */
  attempts: number;
  failedAttempts: number;
  requests: number;
  toolCalls: {
    requested: number;
    answered: number;
    /** Actually invoked (T-2), by us or by the provider. */
    executed: number;
    /** Executed, and the tool did not fail. */
    succeeded: number;
    /** Executed, and the tool failed or timed out. */
    failed: number;
    /** Answered without being invoked and without fault: progress reports and the accepted report. */
    acknowledged: number;
    /** Not executed, by reason. */
    rejected: Partial<Record<Slug, number>>;
  };
  reports: { attempted: number; rejected: number };
  notices: number;
  collapses: number;
  waits: number;
  tokens: Usage;
  /** US dollars; null once a request was made whose price nobody gave. */
  costUsd: number | null;
  /** How often each slug was the reason of a failed attempt or of the session's failure. */
  slugs: Partial<Record<Slug, number>>;
  /** Results that came for an effect that was settled or cancelled, and were dropped (D-2). */
  lateResults: number;
};

export function emptyCounters(): Counters {
  return {
    turns: 0,
    attempts: 0,
    failedAttempts: 0,
    requests: 0,
    toolCalls: { requested: 0, answered: 0, executed: 0, succeeded: 0, failed: 0, acknowledged: 0, rejected: {} },
    reports: { attempted: 0, rejected: 0 },
    notices: 0,
    collapses: 0,
    waits: 0,
    tokens: { ...noUsage },
    costUsd: 0,
    slugs: {},
    lateResults: 0,
  };
}

/** Counts one fact into `counters`, in place: a session has thousands of them. */
export function count(counters: Counters, fact: Fact): void {
  switch (fact.type) {
    case 'turn.started':
      counters.turns += 1;
      return;
    case 'attempt.started':
      counters.attempts += 1;
      counters.requests += 1;
      if (fact.notice !== null) counters.notices += 1;
      return;
    case 'attempt.replied':
      addUsage(counters.tokens, fact.usage);
      counters.costUsd = counters.costUsd === null || fact.costUsd === null ? null : counters.costUsd + fact.costUsd;
      return;
    case 'attempt.failed':
      counters.failedAttempts += 1;
      countSlugs(counters.slugs, fact.slugs);
      return;
    case 'session.failed':
    case 'session.aborted':
      countSlugs(counters.slugs, fact.failure.slugs.slice(0, 1));
      return;
    case 'session.collapsed':
      counters.collapses += 1;
      return;
    case 'wait.started':
      counters.waits += 1;
      return;
    case 'tool.requested':
      counters.toolCalls.requested += 1;
      return;
    case 'tool.answered':
      countAnswer(counters.toolCalls, fact);
      return;
    case 'report.rejected':
      counters.reports.attempted += 1;
      counters.reports.rejected += 1;
      return;
    case 'report.accepted':
      counters.reports.attempted += 1;
      return;
    default:
      return;
  }
}

function countAnswer(calls: Counters['toolCalls'], answer: Extract<Fact, { type: 'tool.answered' }>): void {
  calls.answered += 1;
  if (answer.executed) {
    calls.executed += 1;
    if (answer.slug === null) calls.succeeded += 1;
    else calls.failed += 1;
  } else if (answer.slug === null) {
    calls.acknowledged += 1;
  } else {
    countSlugs(calls.rejected, [answer.slug]);
  }
}

function countSlugs(counts: Partial<Record<Slug, number>>, found: readonly Slug[]): void {
  for (const slug of found) counts[slug] = (counts[slug] ?? 0) + 1;
}

function addUsage(total: Usage, usage: Usage): void {
  total.input += usage.input;
  total.output += usage.output;
  total.reasoning += usage.reasoning;
  total.cacheRead += usage.cacheRead;
  total.cacheWrite += usage.cacheWrite;
}
