import { callPreview } from '../../agent/call-preview.ts';
import type { Agent } from '../../agent/definition.ts';
import { systemClock } from '../../host/clock.ts';
import type { PendingApproval } from '../../session/replay/pending-approvals.ts';

/** How old what a tool said may be, in ms, when a page looks: the file that it is about may have changed. */
const freshMs = 2_000;
/** A page that has gone looks no more. */
const keptMs = 60_000;

/** `root`: the agent of the session, from which `path` leads to the one that made the call. */
export type RootedApproval = PendingApproval & { root: string };

type Known = { lookedAt: number; latest: { text: string | null } | null; running: Promise<unknown> | null };

/** The latest preview of each waiting call, requested again while a page shows it. */
export class Previews {
  private readonly agents: readonly Agent[];
  private readonly known = new Map<string, Known>();
  private readonly closing = new AbortController();

  constructor(agents: readonly Agent[]) {
    this.agents = agents;
  }

  /** Asks the tool of a call, unless it was asked just now. */
  look(call: RootedApproval): void {
    const now = systemClock.now();
    for (const [key, { lookedAt, running }] of this.known)
      if (running === null && now - lookedAt > keptMs) this.known.delete(key);
    const known = this.known.get(keyOf(call)) ?? { lookedAt: Number.NEGATIVE_INFINITY, latest: null, running: null };
    this.known.set(keyOf(call), known);
    if (known.running !== null || now - known.lookedAt < freshMs) return;
    known.lookedAt = now;
    known.running = this.now(call).then((text) => {
      known.latest = { text };
      known.running = null;
    });
  }

  /** Resolves once no tool is being asked. */
  async settled(): Promise<void> {
    await Promise.all([...this.known.values()].map(({ running }) => running));
  }

  /** What the tool said last; null if it has not said anything yet. */
  latest(call: RootedApproval): { text: string | null } | null {
    return this.known.get(keyOf(call))?.latest ?? null;
  }

  /** Notes what the tool of a call has just said, for the next look. */
  note(call: RootedApproval, text: string | null): void {
    const known = this.known.get(keyOf(call));
    if (known !== undefined) known.latest = { text };
  }

  /** Asks the tool of a call now. Never rejects: that a tool fails is what it says. */
  async now({ root, path, tool: name, input }: RootedApproval): Promise<string | null> {
    const agent = this.agents.find((one) => one.name === root);
    return agent === undefined ? null : callPreview(agent, { path, name, input }, this.closing.signal);
  }

  /** Waits for no tool any more. */
  close(): void {
    this.closing.abort();
  }
}

function keyOf({ sessionId, madeBy, callId, input }: RootedApproval): string {
  return JSON.stringify([sessionId, madeBy, callId, input]);
}
