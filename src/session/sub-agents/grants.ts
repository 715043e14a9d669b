import { type Allowance, fairGrants, leftForSubAgents, nothingSpent, type Spent } from '../../../machines/index.ts';
import { eventLoopTurn } from '../../host/clock.ts';

type Waiting = { bound: number; settle: (grant: Allowance | null) => void };

/**
 * The grants of one session to its sub-agents (B-7). A grant is reserved when a sub-agent starts, and what it did not use
 * comes back when it ends. Sub-agents that start together share what is left; one for which nothing is left waits for
 * what the others give back.
 */
export class Grants {
  private readonly allowance: Allowance;
  private readonly spent: () => Spent;
  private reserved: Spent = nothingSpent;
  private running = 0;
  private isSuspended = false;
  private waiting: Waiting[] = [];

  /** `spent` returns what this session and its ended sub-agents have spent. */
  constructor(allowance: Allowance, spent: () => Spent) {
    this.allowance = allowance;
    this.spent = spent;
  }

  /** Returns a grant of at most `bound` requests; null if nothing is left, or the signal aborts. */
  async takeGrant(bound: number, signal: AbortSignal): Promise<Allowance | null> {
    const granted = new Promise<Allowance | null>((resolve) => {
      const withdraw = this.ask(bound, resolve);
      const leave = () => {
        withdraw();
        resolve(null);
      };
      signal.addEventListener('abort', leave, { once: true });
      if (signal.aborted) leave();
    });
    // Calls of one reply start in one step, so they are all waiting by then.
    await eventLoopTurn();
    this.share();
    const grant = await granted;
    if (grant === null || !(signal.aborted || this.isSuspended)) return grant;
    this.giveBack(grant);
    return signal.aborted ? null : new Promise<never>(() => {});
  }

  /** Gives no further grants: the calls are performed again when the session is resumed. */
  suspend(): void {
    this.isSuspended = true;
  }

  /** Asks for a grant, which `share` settles, now or later. Returns a function that withdraws the request. */
  ask(bound: number, settle: (grant: Allowance | null) => void): () => void {
    const waiting = { bound, settle };
    this.waiting.push(waiting);
    return () => {
      this.waiting = this.waiting.filter((one) => one !== waiting);
    };
  }

  /** Takes a grant that was made before a crash. */
  reserve(grant: Allowance): void {
    this.running += 1;
    this.reserved = reservedWith(this.reserved, grant, 1);
  }

  giveBack(grant: Allowance): void {
    this.running -= 1;
    this.reserved = reservedWith(this.reserved, grant, -1);
    this.share();
  }

  /** Divides what is left among those who ask. */
  share(): void {
    const left = leftForSubAgents(this.allowance, this.spent(), this.reserved);
    const grants = fairGrants(
      left,
      this.waiting.map(({ bound }) => bound),
    );
    const some = grants.some((grant) => grant !== null);
    const { waiting } = this;
    this.waiting = [];
    for (const [index, one] of waiting.entries()) {
      const grant = grants[index] ?? null;
      if (grant !== null) {
        this.reserve(grant);
        one.settle(grant);
      } else if (some || this.running > 0) {
        this.waiting.push(one);
      } else {
        one.settle(null);
      }
    }
  }
}

function reservedWith(reserved: Spent, { requests, tokens, costUsd }: Allowance, sign: 1 | -1): Spent {
  return {
    requests: reserved.requests + sign * (requests ?? 0),
    tokens: reserved.tokens + sign * (tokens ?? 0),
    costUsd: reserved.costUsd + sign * (costUsd ?? 0),
  };
}
