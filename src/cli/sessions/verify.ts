import { counted, tame } from '../../platform/text.ts';
import { exitCodes, type Flags, UsageError } from '../command-line.ts';
import { sessionRow, withJournal } from './opened-journal.ts';

/** `pawl verify`: checks recorded sessions against what is promised of every session. */
export async function verifyCommand([id, ...rest]: readonly string[], flags: Flags): Promise<number> {
  if (rest.length > 0) throw new UsageError(`pawl verify takes one session, or none for all; got ${rest.join(' ')}.`);
  const { verifySessions } = await import('../../testing/verify/verify-sessions.ts');
  return withJournal(flags, async (journal) => {
    const only = id === undefined ? {} : { sessionId: (await sessionRow(journal, id)).sessionId };
    let [checked, failed] = [0, 0];
    for await (const session of verifySessions(journal, only)) {
      checked += 1;
      if (session.broken.length > 0) failed += 1;
      if (flags.json) process.stdout.write(`${JSON.stringify(session)}\n`);
      else for (const line of linesOf(session.sessionId, session.broken)) process.stdout.write(`${line}\n`);
    }
    if (!flags.json)
      process.stdout.write(
        `${counted(checked, 'session')} verified: ${failed === 0 ? 'every promise is kept.' : `${failed} broke a promise.`}\n`,
      );
    return failed === 0 ? exitCodes.succeeded : exitCodes.failed;
  });
}

function linesOf(sessionId: string, broken: readonly string[]): string[] {
  if (broken.length === 0) return [];
  return [tame(sessionId), ...broken.map((one) => `  broken: ${tame(one).replaceAll('\n', ' ')}`)];
}
