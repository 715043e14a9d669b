import type { SessionEvent } from '../observe/events.ts';

import { approvalIdOf, type CallReference } from './call-reference.ts';

type Activity = { isBusy: boolean; calls: Map<string, 'open' | 'waiting' | 'subAgent'> };

/** Whether a session and its sub-agents do nothing but wait for a person's decision, folded over its events. */
export class Pause {
  private readonly sessions = new Map<string, Activity>();
  private readonly decided: ReadonlySet<string>;

  /** `decided`: calls that do not wait any more, though the events may not say so yet. */
  constructor(decided: readonly CallReference[]) {
    this.decided = new Set(decided.map(approvalIdOf));
  }

  get isOn(): boolean {
    const all = [...this.sessions.values()];
    const states = all.flatMap(({ calls }) => [...calls.values()]);
    return states.includes('waiting') && !states.includes('open') && !all.some(({ isBusy }) => isBusy);
  }

  /** The calls of the session itself whose sub-agents wait. */
  get subAgentCalls(): string[] {
    const [root] = this.sessions.values();
    return [...(root?.calls ?? [])].flatMap(([callId, state]) => (state === 'subAgent' ? [callId] : []));
  }

  take(event: SessionEvent): void {
    switch (event.type) {
      case 'session.succeeded':
      case 'session.failed':
      case 'session.aborted':
        this.sessions.delete(event.sessionId);
        return;
      case 'attempt.replied':
        this.of(event).isBusy = false;
        return;
      case 'attempt.finished':
      case 'attempt.succeeded':
      case 'attempt.failed':
      case 'attempt.aborted':
        this.of(event).isBusy = true;
        this.of(event).calls.clear();
        return;
      case 'tool.requested':
      case 'tool.approved':
      case 'tool.denied':
        this.of(event).calls.set(event.callId, 'open');
        return;
      case 'tool.approvalRequested':
      case 'tool.handedOut':
        this.of(event).calls.set(event.callId, this.decided.has(approvalIdOf(event)) ? 'open' : 'waiting');
        return;
      case 'tool.answered':
        this.of(event).calls.delete(event.callId);
        return;
      case 'subAgent.started':
        // Its own events tell what it does.
        this.of(event).calls.set(event.callId, 'subAgent');
        this.of({ sessionId: event.childSessionId });
        return;
      case 'subAgent.ended':
        this.sessions.delete(event.childSessionId);
        this.of(event).calls.set(event.callId, 'open');
        return;
      default:
        return;
    }
  }

  private of({ sessionId }: { sessionId: string }): Activity {
    const activity = this.sessions.get(sessionId) ?? { isBusy: true, calls: new Map() };
    this.sessions.set(sessionId, activity);
    return activity;
  }
}
