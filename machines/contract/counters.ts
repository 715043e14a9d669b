import type { SummaryRequest } from './effects.ts';
import type { Fact } from './events.ts';
import { type BreakTally, breaksTogether } from './prefix-break.ts';
import { noUsage, type Usage } from './reply.ts';
import { type Slug, slugs } from './slugs.ts';

type SlugTally = Partial<Record<Slug, number>>;

/** What one tool did in a session. `calls` were executed (T-2), and `failed` of them failed. */
export type ToolCounters = {
  calls: number;
  failed: number;
  /** From the start of each call to its answer, in ms; 0 for tools that the provider executed. */
  durationMs: number;
  /** UTF-8 bytes of the results in the conversation. */
  bytes: number;
};

/** A session's counters (S-4): public on the result, and live while the session runs. */
export type Counters = {
  /** Turns started. */
  turns: number;
  /** Attempts started; each sends one LLM request. */
  attempts: number;
  failedAttempts: number;
  /** LLM requests: those of the attempts, and those for summaries (T-9). */
  requests: number;
  toolCalls: {
    requested: number;
    answered: number;
    /** Actually invoked (T-2), by Pawl or by the provider. */
    executed: number;
    /** Executed, and the tool did not fail. */
    succeeded: number;
    /** Executed, and the tool failed or timed out. */
    failed: number;
    /** Answered successfully without invoking a tool: progress reports and the accepted report. */
    acknowledged: number;
    /** Not executed, by reason. */
    rejected: SlugTally;
  };
  /** The executed calls by tool, whoever executed them; see `countTool`. */
  tools: Record<string, ToolCounters>;
  /** Results that a cache had kept. */
  cacheHits: number;
  reports: { attempted: number; rejected: number };
  notices: number;
  collapses: number;
  /** Messages that took the place of earlier ones (T-9). */
  compactions: number;
  /** Requests for summaries, whatever came of them (T-9). */
  summaries: number;
  waits: number;
  /** Attempts that waited for a gate, or drew on a shared budget, before they began (P-7, B-8). */
  admissions: number;
  tokens: Usage;
  /** How often a request did not extend the one before, by cause (B-5d). */
  cachePrefixBreaks: BreakTally;
  /** US dollars, with an estimate where the provider counted no tokens; null after any request with an unknown price. */
  costUsd: number | null;
  /** How often each slug caused a failed attempt or the session's failure. */
  slugs: SlugTally;
  /** Results dropped because their effect was already settled or cancelled (D-2). */
  lateResults: number;
  /** Sub-agent counters (B-7), keyed by the name used in calls and summed over sessions. */
  subAgents: Record<string, Counters>;
  /** Totals for this session and its descendants. */
  tree: { sessions: number; requests: number; toolCalls: number; tokens: Usage; costUsd: number | null };
};

export function emptyCounters(): Counters {
  return {
    turns: 0,
    attempts: 0,
    failedAttempts: 0,
    requests: 0,
    toolCalls: { requested: 0, answered: 0, executed: 0, succeeded: 0, failed: 0, acknowledged: 0, rejected: {} },
    tools: {},
    cacheHits: 0,
    reports: { attempted: 0, rejected: 0 },
    notices: 0,
    collapses: 0,
    compactions: 0,
    summaries: 0,
    waits: 0,
    admissions: 0,
    tokens: { ...noUsage },
    cachePrefixBreaks: {},
    costUsd: 0,
    slugs: {},
    lateResults: 0,
    subAgents: {},
    tree: { sessions: 1, requests: 0, toolCalls: 0, tokens: { ...noUsage }, costUsd: 0 },
  };
}

/** Counts one fact into `counters`, in place because a session has thousands of facts. */
export function count(counters: Counters, fact: Fact): void {
  switch (fact.type) {
    case 'turn.started':
      counters.turns += 1;
      return;
    case 'attempt.started':
      counters.attempts += 1;
      counters.requests += 1;
      counters.tree.requests += 1;
      if (fact.notice !== null) counters.notices += 1;
      return;
    case 'attempt.replied':
      countUsed(counters, fact);
      return;
    case 'conversation.compacted':
      counters.compactions += 1;
      if (fact.asked !== null) countUsed(counters, fact.asked);
      return;
    case 'compaction.failed':
      if (fact.asked !== null) countUsed(counters, fact.asked);
      return;
    case 'attempt.failed':
      counters.failedAttempts += 1;
      countSlugs(counters.slugs, fact.slugs);
      return;
    case 'session.failed':
    case 'session.aborted':
      countSlugs(counters.slugs, fact.failure.slugs);
      return;
    case 'session.collapsed':
      counters.collapses += 1;
      return;
    case 'wait.started':
      counters.waits += 1;
      return;
    case 'admission.requested':
      counters.admissions += 1;
      return;
    case 'tool.requested':
      counters.toolCalls.requested += 1;
      counters.tree.toolCalls += 1;
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

/** Counts the request for a summary, when it is sent. */
export function countSummary(counters: Counters): void {
  counters.summaries += 1;
  counters.requests += 1;
  counters.tree.requests += 1;
}

function countUsed(counters: Counters, { usage, costUsd }: Pick<SummaryRequest, 'usage' | 'costUsd'>): void {
  for (const total of [counters, counters.tree]) {
    addUsage(total.tokens, usage);
    total.costUsd = costTogether(total.costUsd, costUsd);
  }
}

/** Counts an executed call of a tool; `count` does not know how long it took. */
export function countTool(counters: Counters, name: string, call: Omit<ToolCounters, 'calls'>): void {
  counters.tools[name] = toolTogether(own(counters.tools, name), { calls: 1, ...call });
}

/** Returns the entry of this name, which may be one that every object has, such as `toString`. */
function own<Value>(entries: Record<string, Value>, name: string): Value | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}

function toolTogether(known: ToolCounters | undefined, more: ToolCounters): ToolCounters {
  if (known === undefined) return more;
  return {
    calls: known.calls + more.calls,
    failed: known.failed + more.failed,
    durationMs: known.durationMs + more.durationMs,
    bytes: known.bytes + more.bytes,
  };
}

/** Counts a sub-agent's finished session (B-7). */
export function countSubAgent(counters: Counters, name: string, child: Counters): void {
  const known = own(counters.subAgents, name);
  counters.subAgents[name] = known === undefined ? child : together(known, child);
  addTree(counters.tree, child.tree);
}

function together(one: Counters, other: Counters): Counters {
  const tokens = { ...one.tokens };
  addUsage(tokens, other.tokens);
  const tree = { ...one.tree, tokens: { ...one.tree.tokens } };
  addTree(tree, other.tree);
  const subAgents = { ...one.subAgents };
  for (const [name, child] of Object.entries(other.subAgents)) {
    const known = own(subAgents, name);
    subAgents[name] = known === undefined ? child : together(known, child);
  }
  const tools = { ...one.tools };
  for (const [name, tool] of Object.entries(other.tools)) tools[name] = toolTogether(own(tools, name), tool);
  return {
    turns: one.turns + other.turns,
    attempts: one.attempts + other.attempts,
    failedAttempts: one.failedAttempts + other.failedAttempts,
    requests: one.requests + other.requests,
    toolCalls: {
      requested: one.toolCalls.requested + other.toolCalls.requested,
      answered: one.toolCalls.answered + other.toolCalls.answered,
      executed: one.toolCalls.executed + other.toolCalls.executed,
      succeeded: one.toolCalls.succeeded + other.toolCalls.succeeded,
      failed: one.toolCalls.failed + other.toolCalls.failed,
      acknowledged: one.toolCalls.acknowledged + other.toolCalls.acknowledged,
      rejected: tallyTogether(one.toolCalls.rejected, other.toolCalls.rejected),
    },
    tools,
    cacheHits: one.cacheHits + other.cacheHits,
    reports: {
      attempted: one.reports.attempted + other.reports.attempted,
      rejected: one.reports.rejected + other.reports.rejected,
    },
    notices: one.notices + other.notices,
    collapses: one.collapses + other.collapses,
    compactions: one.compactions + other.compactions,
    summaries: one.summaries + other.summaries,
    waits: one.waits + other.waits,
    admissions: one.admissions + other.admissions,
    tokens,
    cachePrefixBreaks: breaksTogether(one.cachePrefixBreaks, other.cachePrefixBreaks),
    costUsd: costTogether(one.costUsd, other.costUsd),
    slugs: tallyTogether(one.slugs, other.slugs),
    lateResults: one.lateResults + other.lateResults,
    subAgents,
    tree,
  };
}

function tallyTogether(one: SlugTally, other: SlugTally): SlugTally {
  const tally = { ...one };
  for (const slug of slugs) if (other[slug] !== undefined) tally[slug] = (tally[slug] ?? 0) + other[slug];
  return tally;
}

function addTree(total: Counters['tree'], tree: Counters['tree']): void {
  total.sessions += tree.sessions;
  total.requests += tree.requests;
  total.toolCalls += tree.toolCalls;
  addUsage(total.tokens, tree.tokens);
  total.costUsd = costTogether(total.costUsd, tree.costUsd);
}

function costTogether(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other;
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

function countSlugs(counts: SlugTally, found: readonly Slug[]): void {
  for (const slug of found) counts[slug] = (counts[slug] ?? 0) + 1;
}

function addUsage(total: Usage, usage: Usage): void {
  total.input += usage.input;
  total.output += usage.output;
  total.reasoning += usage.reasoning;
  total.cacheRead += usage.cacheRead;
  total.cacheWrite += usage.cacheWrite;
}
