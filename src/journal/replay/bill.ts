import { type Fact, noUsage, type Usage } from '../../../machines/index.ts';
import type { JournalEntry, SessionHead } from '../journal.ts';
import { restoredFacts } from './stored-facts.ts';

/** A request of a session, or of one of its sub-agents, as its journal knows it. */
export type BilledRequest = {
  /** The agent, and its session: that of the tree that sent the request. */
  agent: string;
  sessionId: string;
  turn: number;
  attempt: number;
  target: string;
  usage: Usage;
  /** US dollars; null for a target without a price. */
  costUsd: number | null;
};

/** What a session began with, and what its tree has spent. */
export type SessionBill = { head: SessionHead | null; requests: BilledRequest[] };

type Replied = Extract<Fact, { type: 'attempt.replied' }>;

/** Returns what a session and its sub-agents spent, request by request: read from its entries, without its machines. */
export function billOf(entries: readonly JournalEntry[]): SessionBill {
  const scopes = new Map<string, { head: SessionHead; deliveries: Parameters<typeof restoredFacts>[1][] }>();
  const requests: BilledRequest[] = [];
  for (const entry of entries) {
    if (entry.type === 'started') scopes.set(entry.scope, { head: entry.head, deliveries: [null] });
    const known = scopes.get(entry.scope);
    if (known === undefined) continue;
    if (entry.type === 'delivered') known.deliveries.push(entry.delivery);
    if (entry.type !== 'stepped') continue;
    const delivery = known.deliveries.shift() ?? null;
    const replied = entry.facts.filter(({ type }) => type === 'attempt.replied');
    for (const { turn, attempt, target, usage, costUsd } of restoredFacts<Replied>(replied, delivery)) {
      const { agent, sessionId } = known.head;
      requests.push({ agent, sessionId, turn, attempt, target, usage, costUsd });
    }
  }
  return { head: scopes.get('')?.head ?? null, requests };
}

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
