import type { SessionEvent } from '../observe/events.ts';

import { approvalIdOf, type CallReference } from './call-reference.ts';

type State = 'open' | 'waiting' | 'subAgent';
type Activity = { isBusy: boolean; calls: Map<string, State> };

/** Whether a session and its sub-agents do nothing but wait for a person's decision, folded over its events. */
export class Pause {
  private readonly sessions = new Map<string, Activity>();
  private readonly decided: ReadonlySet<string>;
  /** How many sessions are busy, and how many calls of all are in each state. */
  private readonly count = { busy: 0, open: 0, waiting: 0, subAgent: 0 };

  /** `decided`: calls that do not wait any more, though the events may not say so yet. */
  constructor(decided: readonly CallReference[]) {
    this.decided = new Set(decided.map(approvalIdOf));
  }

  get isOn(): boolean {
    const { busy, open, waiting } = this.count;
    return waiting > 0 && open === 0 && busy === 0;
  }

  /** The calls of the session itself whose sub-agents wait. */
  get subAgentCalls(): string[] {
    const [root] = this.sessions.values();
    return [...(root?.calls ?? [])].flatMap(([callId, state]) => (state === 'subAgent' ? [callId] : []));
  }

  takeEvent(event: SessionEvent): void {
    switch (event.type) {
      case 'session.succeeded':
      case 'session.failed':
      case 'session.aborted':
        this.remove(event.sessionId);
        return;
      case 'attempt.replied':
        this.setBusy(this.of(event), false);
        return;
      case 'attempt.finished':
      case 'attempt.progressed':
      case 'attempt.failed':
      case 'attempt.aborted':
        this.clear(this.of(event));
        this.setBusy(this.of(event), true);
        return;
      case 'tool.requested':
      case 'tool.approved':
      case 'tool.replied':
      case 'tool.denied':
        this.set(event, 'open');
        return;
      case 'tool.approvalRequested':
      case 'tool.handedOut':
      case 'tool.asked':
        this.set(event, this.decided.has(approvalIdOf(event)) ? 'open' : 'waiting');
        return;
      case 'tool.answered':
        this.set(event, null);
        return;
      case 'subAgent.started':
        // Its own events tell what it does.
        this.set(event, 'subAgent');
        this.of({ sessionId: event.childSessionId });
        return;
      case 'subAgent.ended':
        this.remove(event.childSessionId);
        this.set(event, 'open');
        return;
      default:
        return;
    }
  }

  private of({ sessionId }: { sessionId: string }): Activity {
    const known = this.sessions.get(sessionId);
    if (known !== undefined) return known;
    const activity = { isBusy: true, calls: new Map() };
    this.count.busy += 1;
    this.sessions.set(sessionId, activity);
    return activity;
  }

  private setBusy(activity: Activity, isBusy: boolean): void {
    this.count.busy += Number(isBusy) - Number(activity.isBusy);
    activity.isBusy = isBusy;
  }

  private set(call: CallReference, state: State | null): void {
    const { calls } = this.of(call);
    const before = calls.get(call.callId);
    if (before !== undefined) this.count[before] -= 1;
    if (state === null) calls.delete(call.callId);
    else {
      calls.set(call.callId, state);
      this.count[state] += 1;
    }
  }

  private clear({ calls }: Activity): void {
    for (const state of calls.values()) this.count[state] -= 1;
    calls.clear();
  }

  private remove(sessionId: string): void {
    const activity = this.sessions.get(sessionId);
    if (activity === undefined) return;
    this.clear(activity);
    this.setBusy(activity, false);
    this.sessions.delete(sessionId);
  }
}
