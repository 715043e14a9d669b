import { onTestFinished } from 'vitest';
import type { PawlError } from '../../src/index.ts';
import type { Append, JournalEntry, SessionChange, SessionMessage, WaitingCall } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import type { ScopeLog } from '../../src/journal/scope-log.ts';
import { TreeLog, type TreeOwner } from '../../src/journal/tree-log.ts';

export type Sighted = Extract<JournalEntry, { type: 'sighted' }>;

/** A journal that says what was appended to it, and how often its lease was renewed. */
class Told extends MemoryJournal {
  readonly appends: Append[] = [];
  renewals = 0;

  override async append(sessionId: string, append: Append): Promise<void> {
    await super.append(sessionId, append);
    this.appends.push(append);
  }

  override renew(sessionId: string, owner: string): Promise<boolean> {
    this.renewals += 1;
    return super.renew(sessionId, owner);
  }
}

export const session = { sessionId: 's', agent: 'a', metadata: {} };
export const stepped = (seq = 1, scope = ''): JournalEntry => ({
  scope,
  type: 'stepped',
  seq,
  end: seq,
  facts: [{ type: 'x' }],
});
export const delta = (seq: number, text: string, over: object = {}, scope = ''): Sighted => ({
  ...{ scope, type: 'sighted', seq, at: seq },
  sighting: {
    ...{ type: 'model.delta', turn: 1, attempt: 1, kind: 'text', part: 0, callId: null, toolName: null, delta: text },
    ...over,
  } as Sighted['sighting'],
});
/** The log of a session, connected to a tree that takes what it gets. */
export function logged({ leaseMs = 60_000, recorded = [] as JournalEntry[] } = {}) {
  const journal = new Told({ leaseMs });
  const log = new TreeLog(journal, session, 'me', recorded);
  const tree = {
    position: 7,
    waiting: [] as WaitingCall[],
    ending: {} as SessionChange,
    failures: [] as PawlError[],
    troubles: [] as unknown[],
  };
  const got: SessionMessage[] = [];
  let scope: ScopeLog | null = null;
  const owner: TreeOwner = {
    position: () => tree.position,
    waiting: () => tree.waiting,
    ending: () => tree.ending,
    receive: (message) => {
      got.push(message);
      return scope;
    },
    failed: (error) => void tree.failures.push(error),
    troubled: (error) => void tree.troubles.push(error),
  };
  log.connect(owner);
  onTestFinished(() => log.close());
  const entries = () => journal.appends.flatMap((append) => append.entries);
  return { journal, log, tree, got, entries, forScope: (given: ScopeLog) => (scope = given) };
}
