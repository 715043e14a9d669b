import { machinesVersion } from '../../machines/index.ts';
import { PawlError } from '../input/errors.ts';

/** The errors of journals, worded once for all stores. */

/** A write was never sent: the store holds nothing of it. */
export class UnsentError extends PawlError {}

/** No answer to a write came: the store may have carried it out, or may still do so. */
export class UnansweredError extends PawlError {}

export function exists(sessionId: string): PawlError {
  const message = `The journal already holds a session ${sessionId}. Resume it, or pass another \`sessionId\`.`;
  return new PawlError('session_exists', message);
}

export function unknownSession(sessionId: string): PawlError {
  return new PawlError('session_unknown', `The journal holds no session ${sessionId}.`);
}

export function doesNotRun(sessionId: string): PawlError {
  return new PawlError('session_taken', `The session ${sessionId} is no longer in the journal.`);
}

export function noLongerOwned(sessionId: string): PawlError {
  const message = `Another process has taken the session ${sessionId}, so this one no longer writes to its journal.`;
  return new PawlError('session_taken', message);
}

export function runsElsewhere(sessionId: string): PawlError {
  const message = `Another process runs the session ${sessionId}, or died a moment ago: try again when its lease has run out.`;
  return new PawlError('session_taken', message);
}

export function notASession(runId: string): PawlError {
  const message = `${runId} is a workflow run and not a session. To continue it, call runWorkflow with its backlog.`;
  return new PawlError('session_unknown', message);
}

/** Entries are missing: the store holds a different number than the row of the session says. */
export function incomplete(sessionId: string, found: number, known: number, file = ''): PawlError {
  const journal = file === '' ? 'The journal' : `The journal ${file}`;
  const message = `${journal} holds ${found} entries of the session ${sessionId}, which had ${known}.`;
  return new PawlError('invalid_journal', message);
}

/** A replay took another way than the journal says: other machines wrote it, or something else did (D-6). */
export function cannotBeReplayed(
  { sessionId, machines }: { sessionId: string; machines: string },
  { entry, recorded, replayed }: { entry: number; recorded: string; replayed: string },
): PawlError {
  const isOurs = machines === machinesVersion;
  const says = `entry ${entry} says "${recorded}", and ${isOurs ? 'the machines say' : 'these machines decide'} "${replayed}"`;
  return isOurs
    ? new PawlError('invalid_journal', `The journal of the session ${sessionId} cannot be replayed: ${says}.`)
    : new PawlError('machines_changed', `The session ${sessionId} cannot be resumed by this version of Pawl: ${says}.`);
}
