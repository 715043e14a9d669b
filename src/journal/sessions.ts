import { z } from 'zod';
import { type Slug, slugs } from '../../machines/index.ts';
import { check } from '../input/check.ts';
import { nonBlank } from '../input/shapes.ts';
import { lazily } from '../platform/lazily.ts';
import { metadataShape } from '../vocabulary/metadata.ts';
import { checkJournal, checkSession } from './given.ts';
import { isEnded, type Journal, type JournaledSession, type SessionQuery, type SessionStatus } from './journal.ts';
import { unknownSession } from './journal-errors.ts';
import { tapeOf } from './tape.ts';

const statuses: readonly SessionStatus[] = ['running', 'suspended', 'succeeded', 'failed', 'aborted'];
const time = z.number({ error: 'a time in epoch ms' }).min(0, { error: 'a time in epoch ms' });

const querySchema = lazily(() =>
  z.strictObject({
    sessionId: nonBlank.optional(),
    idPrefix: nonBlank.optional(),
    status: z.enum(statuses, { error: `one of ${statuses.join(', ')}` }).optional(),
    agent: nonBlank.optional(),
    slug: z.custom<Slug>((value) => slugs.some((slug) => slug === value), { error: 'a slug' }).optional(),
    since: time.optional(),
    metadata: metadataShape.optional(),
  } satisfies Record<keyof SessionQuery, z.ZodType>),
);

const pruneSchema = lazily(() => z.strictObject({ before: time }));

/** Returns the sessions of a journal that match, the latest updated first. Throws `PawlError` (`invalid_options`). */
export async function listSessions(journal: Journal, query: SessionQuery = {}): Promise<JournaledSession[]> {
  checkJournal(journal);
  check(querySchema(), query, 'query', 'invalid_options');
  return journal.list(query);
}

/** Deletes a session. Returns false for an unknown one. Rejects with `session_taken` while a process runs it. */
export async function deleteSession(journal: Journal, sessionId: string): Promise<boolean> {
  checkSession(journal, sessionId);
  return journal.delete(sessionId);
}

/** Deletes the sessions that ended, and were last written `before` a time (epoch ms). Returns their ids. */
export async function pruneSessions(journal: Journal, options: { before: number }): Promise<string[]> {
  checkJournal(journal);
  const { before } = check(pruneSchema(), options, 'options', 'invalid_options');
  const old = (await journal.list({})).filter(({ status, updatedAt }) => isEnded(status) && updatedAt < before);
  const deleted: string[] = [];
  for (const { sessionId } of old) if (await journal.delete(sessionId)) deleted.push(sessionId);
  return deleted;
}

/**
 * Returns a session as the text of a file, which `pawl replay` and `replayFixture` play. It holds the whole conversation,
 * as the journal does.
 */
export async function exportSession(journal: Journal, sessionId: string): Promise<string> {
  checkSession(journal, sessionId);
  const entries = await journal.read(sessionId);
  if (entries.length === 0) throw unknownSession(sessionId);
  return tapeOf(entries);
}
