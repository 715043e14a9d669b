import type { DeepPartial } from 'ai';
import { unexpected } from '../input/errors.ts';
import type { Session } from '../session/session.ts';
import { GrowingReport } from './growing-report.ts';

/**
 * Returns the report of a session as it grows: each value holds what has come so far, and the last one is the accepted
 * report. A report that is rejected begins again. A session that fails ends it. Throws `invalid_options`.
 */
export function partialReport<Report>(session: Session<Report>): AsyncGenerator<DeepPartial<Report>, void> {
  const given: unknown = session;
  if (typeof given !== 'object' || given === null || !('events' in given))
    throw unexpected('invalid_options', 'session', given, 'a session');
  return growing(session);
}

async function* growing<Report>(session: Session<Report>): AsyncGenerator<DeepPartial<Report>, void> {
  const report = new GrowingReport();
  for await (const event of session.events) {
    const content =
      event.type === 'report.accepted' && event.path.length === 0 ? event.content : await report.takeEvent(event);
    if (content !== undefined) yield content as DeepPartial<Report>;
  }
}
