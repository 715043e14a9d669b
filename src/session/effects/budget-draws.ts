import { type ModelOutcome, noUsage, type RequestsLeft } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import { costOf } from '../../model/pricing.ts';
import type { Target } from '../../model/targets.ts';
import type { BudgetAccount } from '../../shared/budget.ts';
import type { PassEnd } from '../../shared/gate.ts';

export type BudgetDrawsParts = {
  pricing: Agent['pricing'];
  /** Null for a session that shares no budget. */
  account: BudgetAccount | null;
  sessionId: string;
  /** The journal of the session, which keeps its budget too; null for none. */
  log: { failed(error: unknown): void } | null;
  /** Told of what could not be written; the next change brings it along. */
  onUnwritten: (error: unknown) => void;
};

/** What a session draws from the budget that it shares (B-8). */
export class BudgetDraws {
  private readonly parts: BudgetDrawsParts;

  constructor(parts: BudgetDrawsParts) {
    this.parts = parts;
  }

  get isShared(): boolean {
    return this.parts.account !== null;
  }

  /** Sets aside what a request of `tokens` may cost. A journal that does not answer suspends its session (D-5). */
  async reserve(target: Target, tokens: number, signal: AbortSignal): Promise<RequestsLeft> {
    const { account, pricing, sessionId, log } = this.parts;
    if (account === null) return 'many';
    const { replyTokens: output } = account;
    const costUsd = costOf({ ...noUsage, input: tokens, output }, pricing[target.name]) ?? 0;
    try {
      return await account.admit(sessionId, { requests: 1, tokens: tokens + output, costUsd }, signal);
    } catch (error) {
      if (!signal.aborted) log?.failed(error);
      throw error;
    }
  }

  /** Takes what a request cost. The reply counts, whether that can be written now or not. */
  async settle({ usage, guessedTokens = 0, costUsd }: ModelOutcome): Promise<void> {
    const tokens = usage.input + usage.output + guessedTokens;
    const cost = { requests: 1, tokens, costUsd: costUsd ?? 0 };
    await this.written((account, id) => account.settled(id, cost, usage.output));
  }

  /** The request that something was set aside for is not sent. */
  unused(how?: { continues: boolean }): Promise<void> {
    return this.written((account, id) => account.unused(id, how));
  }

  /** The session has ended, or continues in another process. */
  leave(how: { continues: boolean }): Promise<void> {
    return this.written((account, id) => account.leave(id, how));
  }

  private async written(change: (account: BudgetAccount, sessionId: string) => Promise<void>): Promise<void> {
    const { account, sessionId, onUnwritten } = this.parts;
    if (account !== null) await change(account, sessionId).catch(onUnwritten);
  }
}

/** What a gate learns from the outcome of a request. */
export function passEnd({ fault, usage, guessedTokens = 0 }: ModelOutcome): PassEnd {
  const tokens = usage.input + usage.output + guessedTokens;
  const retryAfterMs = fault?.retryAfterMs ?? null;
  const isRefused = fault !== null && (fault.kind === 'rate_limited' || retryAfterMs !== null);
  return { isRefused, retryAfterMs, tokens: tokens === 0 ? null : tokens };
}
