import type { Journal } from '../../src/index.ts';

/** A journal with some methods of its own. */
export function journalWith(journal: Journal, over: Partial<Journal>): Journal {
  return {
    leaseMs: journal.leaseMs,
    create: (...given) => journal.create(...given),
    append: (...given) => journal.append(...given),
    read: (...given) => journal.read(...given),
    lease: (...given) => journal.lease(...given),
    renew: (...given) => journal.renew(...given),
    release: (...given) => journal.release(...given),
    post: (...given) => journal.post(...given),
    inbox: (...given) => journal.inbox(...given),
    list: (...given) => journal.list(...given),
    delete: (...given) => journal.delete(...given),
    close: () => journal.close(),
    ...over,
  };
}

const never = () => new Promise<never>(() => {});

/**
 * A process that dies at its write number `at`, from 1: `before` it is durable or `after`. From then on nothing comes
 * back to it, and its lease has run out.
 */
export function dyingJournal(journal: Journal, at: number, when: 'before' | 'after') {
  let writes = 0;
  let isDead = false;
  const died = Promise.withResolvers<void>();
  const write = async (owner: string, sessionId: string, act: () => Promise<void>) => {
    if (isDead) return never();
    writes += 1;
    if (writes < at) return act();
    isDead = true;
    if (when === 'after') await act();
    await journal.release(sessionId, owner);
    died.resolve();
    return never();
  };
  const alive = <T>(act: () => Promise<T>): Promise<T> => (isDead ? never() : act());
  const dying = journalWith(journal, {
    create: (session, append) => write(append.owner, session.sessionId, () => journal.create(session, append)),
    append: (sessionId, append) => write(append.owner, sessionId, () => journal.append(sessionId, append)),
    read: (...given) => alive(() => journal.read(...given)),
    lease: (sessionId, owner) => alive(() => journal.lease(sessionId, owner)),
    renew: (sessionId, owner) => alive(() => journal.renew(sessionId, owner)),
    release: (sessionId, owner) => alive(() => journal.release(sessionId, owner)),
    inbox: (sessionId) => alive(() => journal.inbox(sessionId)),
  });
  return { journal: dying, died: died.promise, writes: () => writes };
}
