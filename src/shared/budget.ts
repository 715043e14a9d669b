import { type Allowance, nothingSpent, type RequestsLeft, type Spent, spentTogether } from '../../machines/index.ts';
import { oneAtATime } from '../platform/promises.ts';
import { type BudgetShare, type BudgetStore, emptyShare } from './budget-store.ts';

/** A session's part in a shared budget. */
type Party = { share: BudgetShare; last: Spent | null };

/** A budget that sessions share (B-8): of one process, or of all that use its store. */
export class BudgetAccount {
  readonly name: string;
  readonly store: BudgetStore;
  limits: Allowance;
  private readonly parties = new Map<string, Party>();
  private readonly waiting = new Map<() => void, string>();
  /** How often something came back. */
  private changes = 0;
  /** Changes of the store, one after another. */
  private readonly inTurn = oneAtATime();
  /** The most tokens that a reply had so far. */
  private longestReply = 500;

  constructor(name: string, limits: Allowance, store: BudgetStore) {
    this.name = name;
    this.limits = limits;
    this.store = store;
  }

  /** What a reply may cost in tokens, before one has come. */
  get replyTokens(): number {
    return this.longestReply;
  }

  /**
   * Sets aside what a request may cost, and as much for the session's report. Returns how many requests the budget allows
   * (B-8): at `one`, only the report. Waits as long as another session may give something back.
   */
  async admit(sessionId: string, estimate: Spent, signal: AbortSignal): Promise<RequestsLeft> {
    for (;;) {
      const before = this.changes;
      const left = await this.inTurn(() => this.tryAdmit(sessionId, estimate));
      // What came back meanwhile may be enough.
      if (left === 'none' && this.changes !== before) continue;
      if (left !== 'none' || !this.mayComeBack(sessionId)) return left;
      signal.throwIfAborted();
      await this.change(sessionId, signal);
      signal.throwIfAborted();
    }
  }

  /** What a request cost. It is no longer in flight. */
  async settled(sessionId: string, cost: Spent, replyTokens: number): Promise<void> {
    await this.inTurn(async () => {
      const party = await this.partyOf(sessionId);
      this.longestReply = Math.max(this.longestReply, replyTokens);
      if (cost.requests > 0) party.last = cost;
      // What cannot be written now is part of the next share.
      party.share = { ...party.share, spent: spentTogether(party.share.spent, cost), inFlight: nothingSpent };
      await this.store.put(this.name, sessionId, party.share, null);
    });
    this.wake();
  }

  /**
   * What was set aside for a request that is not sent stays for the report; the session gives it back when it ends. One that
   * was let through and `continues` will still send it: that stays beside the report's.
   */
  async unused(sessionId: string, { continues }: { continues: boolean } = { continues: false }): Promise<void> {
    await this.inTurn(async () => {
      const party = await this.partyOf(sessionId);
      const { spent, inFlight, kept } = party.share;
      const left = continues ? spentTogether(kept, inFlight) : larger(kept, inFlight);
      party.share = { spent, inFlight: nothingSpent, kept: left };
      await this.store.put(this.name, sessionId, party.share, null);
    });
    this.wake();
  }

  /** The session has ended: what was set aside for it is released. One that continues elsewhere keeps what its report needs. */
  async leave(sessionId: string, { continues }: { continues: boolean }): Promise<void> {
    await this.inTurn(async () => {
      const party = this.parties.get(sessionId);
      if (party === undefined) return;
      const { spent, inFlight, kept } = party.share;
      // A request that was in flight may have cost what was set aside.
      const left = continues ? kept : nothingSpent;
      party.share = { spent: spentTogether(spent, inFlight), inFlight: nothingSpent, kept: left };
      this.wake();
      await this.store.put(this.name, sessionId, party.share, null);
      // If the write failed, this process still knows the share when the session resumes.
      this.parties.delete(sessionId);
    });
    this.wake();
  }

  private async tryAdmit(sessionId: string, estimate: Spent): Promise<RequestsLeft> {
    const party = await this.partyOf(sessionId);
    const { spent, kept } = party.share;
    const one = larger(estimate, party.last ?? nothingSpent);
    if (await this.set(sessionId, { spent, inFlight: one, kept: one }, this.limits)) return 'many';
    const report = { spent, inFlight: one, kept: nothingSpent };
    // What is kept for the report is its own, even if the report costs a little more.
    if (await this.set(sessionId, report, kept.requests > 0 ? null : this.limits)) return 'one';
    if (party.share === emptyShare) this.parties.delete(sessionId);
    return 'none';
  }

  private async set(sessionId: string, share: BudgetShare, most: Allowance | null): Promise<boolean> {
    if (!(await this.store.put(this.name, sessionId, share, most))) return false;
    const party = this.parties.get(sessionId);
    if (party !== undefined) party.share = share;
    return true;
  }

  /** What an earlier process set aside for a request that it never saw the end of counts as spent. */
  private async partyOf(sessionId: string): Promise<Party> {
    const known = this.parties.get(sessionId);
    if (known !== undefined) return known;
    const kept = await this.store.share(this.name, sessionId);
    const share =
      kept === null ? emptyShare : { ...kept, spent: spentTogether(kept.spent, kept.inFlight), inFlight: nothingSpent };
    const party: Party = { share, last: null };
    this.parties.set(sessionId, party);
    return party;
  }

  /** Whether another session may give something back: one that neither waits itself, nor for a sub-agent that does. */
  private mayComeBack(sessionId: string): boolean {
    const held = [sessionId, ...this.waiting.values()];
    const isHeld = (id: string) => held.some((one) => one === id || one.startsWith(`${id}/`));
    return [...this.parties].some(
      ([id, { share }]) => !isHeld(id) && share.inFlight.requests + share.kept.requests > 0,
    );
  }

  private change(sessionId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.waiting.set(done, sessionId);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  private wake(): void {
    this.changes += 1;
    for (const one of [...this.waiting.keys()]) one();
  }
}

function larger(one: Spent, other: Spent): Spent {
  return {
    requests: Math.max(one.requests, other.requests),
    tokens: Math.max(one.tokens, other.tokens),
    costUsd: Math.max(one.costUsd, other.costUsd),
  };
}
