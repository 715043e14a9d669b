import type { Delivery, Fact, Message, ModelRequest } from '../../machines/index.ts';
import type { DriverStep } from '../host/driver.ts';
import type { DriverLog } from '../host/journaled.ts';
import type { SentCall } from '../model/model-effect.ts';
import type { Sighting } from '../observe/events.ts';
import type { SessionChange, SessionHead } from './journal.ts';
import { type StoredFact, storedFacts } from './replay/stored-facts.ts';
import type { TreeLog } from './tree-log.ts';

/** The log of one session of a tree: a scope of its parent's journal. */
export class ScopeLog implements DriverLog {
  readonly scope: string;
  readonly head: SessionHead;
  readonly tree: TreeLog;
  private facts: Fact[] = [];
  /** Messages that came in since the last delivery was written. */
  private messages: number[] = [];

  constructor(tree: TreeLog, head: SessionHead) {
    this.tree = tree;
    this.scope = scopeOf(head);
    this.head = head;
  }

  /** The log of a new session. */
  static of(tree: TreeLog, head: SessionHead): ScopeLog {
    const log = new ScopeLog(tree, head);
    tree.note({ scope: log.scope, type: 'started', head });
    return log;
  }

  /** The log of a new sub-agent. */
  child(head: SessionHead): ScopeLog {
    return ScopeLog.of(this.tree, head);
  }

  start(): Promise<void> {
    return this.tree.write();
  }

  begun(keys: readonly string[], at: number): Promise<void> {
    for (const key of keys) this.tree.note({ scope: this.scope, type: 'begun', key, at });
    return this.tree.write();
  }

  delivered(deliveries: readonly Delivery[]): Promise<void> {
    for (const delivery of deliveries) this.tree.note({ scope: this.scope, type: 'delivered', delivery });
    for (const id of this.messages) this.tree.took(id);
    this.messages = [];
    return this.tree.write();
  }

  applying({ delivery, take }: DriverStep): void {
    const seq = this.tree.position;
    const facts: Fact[] = [];
    const entry = steppedEntry(this.scope, seq, facts, delivery);
    this.tree.note(entry);
    this.facts = facts;
    take();
    // The write that the note waits for comes after the step.
    entry.end = this.tree.position;
  }

  fact(fact: Fact): void {
    this.facts.push(fact);
  }

  sighted(sighting: Sighting, at: number): void {
    this.tree.note({ scope: this.scope, type: 'sighted', seq: this.tree.position, at, sighting });
  }

  /** Writes a request down, before it goes out. */
  sent(
    conversation: () => readonly Message[],
    { turn, attempt }: ModelRequest,
    provider: string,
    { tools, marks }: SentCall,
  ): Promise<void> {
    const number = this.tree.offered(this.scope, tools);
    const messages = conversation().length;
    this.tree.note({ scope: this.scope, type: 'sent', turn, attempt, provider, messages, tools: number, marks });
    return this.tree.write();
  }

  /** A message came in, which the next delivery holds. */
  receives(id: number): void {
    this.messages.push(id);
  }

  failed(error: unknown): void {
    this.tree.fail(error);
  }

  /** The session has ended. Resolves when all is durable, and its lease given back. */
  async ended(change: SessionChange): Promise<void> {
    if (this.scope === '') await this.tree.end(change);
  }
}

/** The note of a step. Its facts are stored on first access, which an in-memory journal may never need. */
export function steppedEntry(
  scope: string,
  seq: number,
  list: readonly { type: string }[],
  delivery: Parameters<typeof storedFacts>[1],
) {
  let facts: StoredFact[] | null = null;
  return {
    scope,
    type: 'stepped' as const,
    seq,
    end: seq,
    get facts() {
      facts ??= storedFacts(list, delivery);
      return facts;
    },
  };
}

export function scopeOf({ call }: SessionHead): string {
  if (call === null) return '';
  return call.parent === '' ? call.callId : `${call.parent}/${call.callId}`;
}
