import { existsSync } from 'node:fs';
import type { Journal, JournaledSession } from '../../journal/journal.ts';
import { sqliteJournal } from '../../journal/sqlite/sqlite.ts';
import { redact } from '../../secrets/redact.ts';
import { type Flags, UsageError } from '../command-line.ts';

const defaultFile = 'pawl.db';

/** Whether a journal is in PostgreSQL. */
const isDatabase = (journal: string) => /^postgres(ql)?:\/\//i.test(journal);

/** Returns the journal's file, which must exist: a command that reads creates none. */
export function journalFile({ journal = defaultFile }: Flags): string {
  if (isDatabase(journal) || existsSync(journal)) return journal;
  throw new UsageError(
    `There is no journal ${redact(journal)}: pass --journal FILE, or make one with pawl run --journal FILE.`,
  );
}

/** Opens a journal: a file of SQLite, or the URL of a database of PostgreSQL. */
export async function openJournal(journal: string): Promise<Journal> {
  if (!isDatabase(journal)) return sqliteJournal(journal);
  const { postgresJournal } = await import('../../journal/postgres/postgres.ts');
  return postgresJournal(journal);
}

/** Does something with the journal of the flags, which is closed afterwards. */
export async function withJournal<T>(flags: Flags, act: (journal: Journal) => Promise<T>): Promise<T> {
  const journal = await openJournal(journalFile(flags));
  try {
    return await act(journal);
  } finally {
    await journal.close();
  }
}

/** Returns the row of a session, by its id or by what only its id begins with. Throws `UsageError` for any other text. */
export async function sessionRow(journal: Journal, id: string): Promise<JournaledSession> {
  const [session] = await journal.list({ sessionId: id });
  if (session !== undefined) return session;
  const [first, ...others] = await journal.list({ idPrefix: id });
  if (first === undefined) throw new UsageError(`The journal holds no session ${id}: pawl sessions lists them.`);
  if (others.length === 0) return first;
  const ids = [first, ...others].slice(0, 3).map(({ sessionId }) => sessionId);
  throw new UsageError(
    `${others.length + 1} sessions begin with ${id}, such as ${ids.join(', ')}: pass more of the id.`,
  );
}
