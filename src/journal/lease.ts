import { systemClock } from '../host/clock.ts';
import { inTime } from '../host/deadline.ts';
import { type Expiry, expiryIn, leftUntil } from '../host/expiry.ts';
import type { Journal } from './journal.ts';
import { noLongerOwned } from './journal-errors.ts';

/** The lease of a session, as the process sees it that took it. */
export class HeldLease {
  private readonly journal: Pick<Journal, 'leaseMs' | 'renew'>;
  private readonly sessionId: string;
  private readonly owner: string;
  private readonly lost: (error: unknown) => void;
  private expiry: Expiry;
  private renewing: Promise<void> | null = null;

  /** `lost` is called when another process has the session, or may have it. */
  constructor(
    journal: Pick<Journal, 'leaseMs' | 'renew'>,
    sessionId: string,
    owner: string,
    lost: (error: unknown) => void,
  ) {
    this.journal = journal;
    this.sessionId = sessionId;
    this.owner = owner;
    this.lost = lost;
    this.expiry = expiryIn(journal.leaseMs);
  }

  /** Whether it certainly has not run out. */
  get isHeld(): boolean {
    return leftUntil(this.expiry) > 0;
  }

  /** Whether it should be renewed. */
  get isDue(): boolean {
    return leftUntil(this.expiry) < (this.journal.leaseMs * 2) / 3;
  }

  /** Call it before a write, which renews the lease, and what it returns once that has succeeded. */
  writing(): () => void {
    const expiry = expiryIn(this.journal.leaseMs);
    return () => {
      this.expiry = expiry;
    };
  }

  /** Asks the journal to renew it. Rejects if the journal does not answer. */
  async extend(): Promise<void> {
    const renewed = this.writing();
    if (await this.journal.renew(this.sessionId, this.owner)) renewed();
    else this.lost(noLongerOwned(this.sessionId));
  }

  /** Renews a lease that may have run out. It is lost if the journal does not answer in time. Never rejects. */
  recover(): Promise<void> {
    this.renewing ??= this.recovered().finally(() => {
      this.renewing = null;
    });
    return this.renewing;
  }

  private async recovered(): Promise<void> {
    const { leaseMs } = this.journal;
    const late = `The journal did not renew the lease of ${this.sessionId} within the ${leaseMs} ms that it lasts.`;
    try {
      await inTime({ clock: systemClock, timeoutMs: leaseMs }, late, () => this.extend());
      if (!this.isHeld) this.lost(new Error(late));
    } catch (error) {
      this.lost(error);
    }
  }
}
