import { appendFileSync } from 'node:fs';
import type { SessionEvent } from '../../observe/events.ts';

/**
 * Writes a line of JSON for each request and each call of a session and its sub-agents, as they end: what was asked of whom,
 * how it ended and what it cost, without what was said.
 */
export class Ledger {
  private readonly file: string;
  /** When each request, and each call, began (epoch ms), by session. */
  private readonly began = new Map<string, number>();

  constructor(file: string) {
    this.file = file;
  }

  heed(event: SessionEvent): void {
    const { sessionId, at } = event;
    switch (event.type) {
      case 'attempt.started':
        this.began.set(sessionId, at);
        return;
      case 'attempt.replied': {
        const { turn, attempt, target, usage, costUsd, fault } = event;
        const what = { turn, attempt, target, tokens: usage, costUsd, fault: fault?.kind ?? null };
        this.write('request', event, what, this.began.get(sessionId));
        return;
      }
      case 'conversation.compacted':
      case 'compaction.failed': {
        const { turn, asked } = event;
        // A request for a summary does not count as an attempt (T-9).
        if (asked === null) return;
        const { target, usage: tokens, costUsd } = asked;
        this.write('request', event, { turn, attempt: 0, target, tokens, costUsd, fault: null }, undefined);
        return;
      }
      case 'tool.started':
        this.began.set(`${sessionId} ${event.callId}`, at);
        return;
      case 'tool.answered': {
        const { turn, attempt, callId, name, executed, slug } = event;
        const began = `${sessionId} ${callId}`;
        this.write('call', event, { turn, attempt, name, callId, executed, slug }, this.began.get(began));
        this.began.delete(began);
        return;
      }
      default:
        return;
    }
  }

  private write(
    kind: 'request' | 'call',
    { at, sessionId, agent }: SessionEvent,
    what: object,
    began: number | undefined,
  ): void {
    const durationMs = began === undefined ? null : at - began;
    const line = { kind, at: new Date(at).toISOString(), sessionId, agent, ...what, durationMs };
    appendFileSync(this.file, `${JSON.stringify(line)}\n`);
  }
}
