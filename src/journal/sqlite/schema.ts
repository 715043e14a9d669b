import { isLeaseHeld, type JournaledSession, undecided } from '../journal.ts';

/** "Pawl", so that another program's database is not taken for a journal. */
export const applicationId = 0x5061776c;
export const schemaVersion = 4;

export const schema = `
  CREATE TABLE sessions (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, metadata TEXT NOT NULL, ended TEXT, slugs TEXT NOT NULL,
    waiting TEXT NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL, entries INTEGER NOT NULL,
    owner TEXT, leased INTEGER NOT NULL, lease INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE entries (
    session INTEGER NOT NULL, position INTEGER NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (session, position)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE inbox (id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, message TEXT NOT NULL) STRICT;
  CREATE INDEX inbox_session ON inbox (session);
  CREATE TABLE budgets (
    budget TEXT NOT NULL, session TEXT NOT NULL, share TEXT NOT NULL, PRIMARY KEY (budget, session)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE gates (name TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
`;

/** A row of `sessions`. */
export type SessionRow = {
  number: number;
  id: string;
  agent: string;
  metadata: string;
  ended: JournaledSession['status'] | null;
  slugs: string;
  waiting: string;
  created: number;
  updated: number;
  entries: number;
  owner: string | null;
  /** When the lease runs out, and how long it was when it was last taken. */
  leased: number;
  lease: number;
  /** The messages of its inbox, as JSON. */
  inbox: string;
};

/** A session without an owner has no lease: `leased` is 0. */
export function isRowHeld({ leased, lease }: SessionRow, now: number): boolean {
  return isLeaseHeld(leased - now, lease);
}

export function journaledSession(row: SessionRow, now: number): JournaledSession {
  const { id, agent, metadata, ended, slugs, waiting, created, updated, entries } = row;
  const messages = JSON.parse(row.inbox).map((message: string) => JSON.parse(message));
  return {
    sessionId: id,
    agent,
    metadata: JSON.parse(metadata),
    status: ended ?? (isRowHeld(row, now) ? 'running' : 'suspended'),
    slugs: JSON.parse(slugs),
    ...undecided(JSON.parse(waiting), messages),
    createdAt: created,
    updatedAt: updated,
    entries,
  };
}
