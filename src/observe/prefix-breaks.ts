import type { Fact, PrefixBreak } from '../../machines/index.ts';
import { finalReportName } from '../vocabulary/built-ins.ts';
import type { Fold, Sighting } from './events.ts';

type Plan = Extract<Fact, { type: 'turn.planned' }>;

/** What the last request began with. */
type Sent = { target: string; speaker: string | null; instructions: string | null; offered: string };

/**
 * Which requests do not extend the one before, so that providers cannot read it from their caches, and why (B-5d). The
 * notice, which is in no later request, does not count.
 */
export class PrefixBreaks implements Fold {
  /** The cause of the break of the current request; null if it extends the one before, or is the first. */
  current: PrefixBreak | null = null;
  private sent: Sent | null = null;
  private own: string | null = null;
  private plan: Plan | null = null;
  /** What was done to the conversation or the tools since the last request. */
  private done = new Set<PrefixBreak>();
  /** The calls that were answered since, whose results no request has held. */
  private fresh = new Set<string>();

  fact(fact: Fact): void {
    switch (fact.type) {
      case 'session.prepared':
        this.own = fact.instructions;
        return;
      case 'turn.planned':
        this.plan = fact;
        return;
      case 'tool.answered':
        this.fresh.add(fact.callId);
        return;
      case 'results.omitted':
        if (fact.textTokens > 0 || fact.callIds.some((callId) => !this.fresh.has(callId)))
          this.done.add('context_guard');
        return;
      case 'conversation.compacted':
        this.done.add('compaction');
        return;
      case 'piece.replaced':
        this.done.add('refused_piece');
        return;
      case 'attempt.started':
        this.begin(fact);
        return;
      default:
        return;
    }
  }

  sighting({ type }: Sighting): void {
    if (type === 'server.toolsChanged') this.done.add('tools_changed');
  }

  private begin({ target, offer }: Extract<Fact, { type: 'attempt.started' }>): void {
    const { plan, own, sent, done } = this;
    const now = {
      target,
      speaker: plan?.speaker ?? null,
      instructions: plan?.instructions ?? plan?.own ?? own,
      offered: offer === 'report' ? nothingElse : offeredBy(plan),
    };
    const [cause = null] = done;
    this.current = sent === null ? null : (breakBetween(sent, now) ?? cause);
    this.sent = now;
    this.done = new Set();
    this.fresh = new Set();
  }
}

function breakBetween(one: Sent, other: Sent): PrefixBreak | null {
  if (one.speaker !== other.speaker) return 'handoff';
  if (one.target !== other.target) return 'target';
  if (one.instructions !== other.instructions) return 'instructions';
  if (one.offered === other.offered) return null;
  return other.offered === nothingElse ? 'report_only' : 'plan';
}

/** The tools of a plan's requests, besides the report. */
function offeredBy(plan: Plan | null): string {
  return JSON.stringify(plan?.offered?.filter((name) => name !== finalReportName) ?? null);
}

const nothingElse = JSON.stringify([]);
