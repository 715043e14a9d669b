import { type Fact, noUsage, type PrefixBreak, type SummaryRequest, type Usage } from '../../../machines/index.ts';
import { PrefixBreaks } from '../../observe/prefix-breaks.ts';
import type { JournalEntry, SessionHead } from '../journal.ts';
import { restoredFacts } from './stored-facts.ts';

/** A request of a session, or of one of its sub-agents, as its journal knows it. */
export type BilledRequest = {
  /** The agent, and its session: that of the tree that sent the request. */
  agent: string;
  sessionId: string;
  turn: number;
  /** 0 for a summary before the turn (T-9). */
  attempt: number;
  target: string;
  usage: Usage;
  /** US dollars; null for a target without a price. */
  costUsd: number | null;
  /** Why the request did not extend the one before; null if it did (B-5d). */
  prefixBreak: PrefixBreak | null;
  /** The input tokens that a cache could not be read for, since the request did not extend the one before. */
  brokenTokens: number;
};

/** What a session began with, and what its tree has spent. */
export type SessionBill = { head: SessionHead | null; requests: BilledRequest[] };

/** A session whose entries are read. */
type Read = {
  head: SessionHead;
  deliveries: Parameters<typeof restoredFacts>[1][];
  prefix: PrefixBreaks;
  /** The input tokens of the request before. */
  before: number;
};

/** The facts that say what a request begins with. */
const ofPrefixes = new Set<string>([
  ...(['session.prepared', 'turn.planned', 'tool.answered', 'results.omitted'] satisfies Fact['type'][]),
  ...(['piece.replaced', 'attempt.started', 'attempt.replied'] satisfies Fact['type'][]),
  ...(['conversation.compacted', 'compaction.failed'] satisfies Fact['type'][]),
]);

/**
 * Returns what a session and its sub-agents spent, request by request: read from its entries, without its machines. What a
 * fork copied, the session that it left has paid for.
 */
export function billOf(entries: readonly JournalEntry[]): SessionBill {
  const scopes = new Map<string, Read>();
  const requests: BilledRequest[] = [];
  for (const [index, entry] of entries.entries()) {
    if (entry.type === 'started')
      scopes.set(entry.scope, { head: entry.head, deliveries: [null], prefix: new PrefixBreaks(), before: 0 });
    const known = scopes.get(entry.scope);
    if (known === undefined) continue;
    if (entry.type === 'delivered') known.deliveries.push(entry.delivery);
    if (entry.type === 'sighted') known.prefix.sighting(entry.sighting);
    if (entry.type !== 'stepped') continue;
    const delivery = known.deliveries.shift() ?? null;
    const told = entry.facts.filter(({ type }) => ofPrefixes.has(type));
    for (const fact of restoredFacts(told, delivery)) {
      known.prefix.fact(fact);
      if (index < (scopes.get('')?.head.fork?.entries ?? 0)) continue;
      if (fact.type === 'attempt.replied') requests.push(billed(known, fact));
      if ('asked' in fact && fact.asked !== null) requests.push(billedSummary(known, fact.turn, fact.asked));
    }
  }
  return { head: scopes.get('')?.head ?? null, requests };
}

function billed(read: Read, { turn, attempt, target, usage, costUsd }: Replied): BilledRequest {
  const { agent, sessionId } = read.head;
  const prefixBreak = read.prefix.current;
  const brokenTokens = prefixBreak === null ? 0 : Math.max(0, Math.min(read.before, usage.input) - usage.cacheRead);
  if (usage.input > 0) read.before = usage.input;
  return { agent, sessionId, turn, attempt, target, usage, costUsd, prefixBreak, brokenTokens };
}

function billedSummary({ head }: Read, turn: number, { target, usage, costUsd }: SummaryRequest): BilledRequest {
  const { agent, sessionId } = head;
  return { agent, sessionId, turn, attempt: 0, target, usage, costUsd, prefixBreak: null, brokenTokens: 0 };
}

type Replied = Extract<Fact, { type: 'attempt.replied' }>;

/** Returns the sum of requests: their tokens, and their cost, which is null if one of them has no price. */
export function billTotal(requests: readonly BilledRequest[]): {
  requests: number;
  usage: Usage;
  costUsd: number | null;
} {
  const usage = { ...noUsage };
  let costUsd: number | null = 0;
  for (const request of requests) {
    for (const kind of Object.keys(usage) as (keyof Usage)[]) usage[kind] += request.usage[kind];
    costUsd = costUsd === null || request.costUsd === null ? null : costUsd + request.costUsd;
  }
  return { requests: requests.length, usage, costUsd };
}
