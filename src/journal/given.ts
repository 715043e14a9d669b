import { z } from 'zod';
import { check } from '../input/check.ts';
import { hasMethods, nonBlank } from '../input/shapes.ts';
import { lazily } from '../platform/lazily.ts';
import type { Journal } from './journal.ts';

/** A journal that a caller gives, and a session of it: checked before anything runs. */

const methods = ['create', 'append', 'read', 'lease', 'renew', 'release', 'post', 'inbox', 'list', 'delete', 'close'];

const error = "a journal, such as sqliteJournal('pawl.db')";

/** A journal in which sessions run, whose leases last. */
export const aJournal = z.custom<Journal>((value) => hasMethods(value, ...methods) && lasts(value as Journal), {
  error,
});

function lasts({ leaseMs }: Journal): boolean {
  return typeof leaseMs === 'number' && leaseMs > 0;
}

const aStore = z.custom<Journal>((value) => hasMethods(value, ...methods), { error });
const sessionSchema = lazily(() => z.object({ journal: aStore, sessionId: nonBlank }));
const journalSchema = lazily(() => sessionSchema().pick({ journal: true }));

/** Throws `invalid_options` for anything but a journal. */
export function checkJournal(journal: unknown): void {
  check(journalSchema(), { journal }, '', 'invalid_options');
}

/** Throws `invalid_options` for anything but a journal and an id. */
export function checkSession(journal: unknown, sessionId: unknown): void {
  check(sessionSchema(), { journal, sessionId }, '', 'invalid_options');
}
