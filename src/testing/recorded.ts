import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { check } from '../input/check.ts';
import { messageOf, reasonOf } from '../input/errors.ts';
import { aFunction, nonBlank } from '../input/shapes.ts';
import { MicrostepReplay } from '../inspect/recorded/microstep-replay.ts';
import { ShownRecording } from '../inspect/recorded/shown-recording.ts';
import { type BoundLimits, firstBreak } from '../inspect/study/first-break.ts';
import { sessionFile } from '../inspect/tape/session-file.ts';
import type { Journal } from '../journal/journal.ts';
import { MemoryJournal } from '../journal/memory.ts';
import { boundSchema } from './session-paths.ts';

export type RecordedOptions = {
  /** Where a failure is written. Default: `counterexample.html` in a new folder for temporary files. */
  file?: string;
  /** The bound that the session must keep to, to open the file where it first does not. Default: the session's own. */
  limits?: BoundLimits;
};

const optionsSchema = z.strictObject({
  file: nonBlank.optional(),
  limits: boundSchema.optional(),
} satisfies Record<keyof RecordedOptions, z.ZodType>);

/**
 * Makes a test that keeps its session if it fails: as a page in one file, opened at the step where a promise is first
 * broken, or at the end. The error names the file. A test fails if it throws or returns false. `test` gets a journal
 * to pass to the session. As a predicate of fast-check, its last failure is the shrunk one, and that is what the file
 * holds in the end. Throws `invalid_options`.
 */
export function recorded<Args extends unknown[]>(
  test: (journal: Journal, ...args: Args) => unknown,
  options: RecordedOptions = {},
): (...args: Args) => Promise<void> {
  check(aFunction, test, 'test', 'invalid_options');
  const { file, limits } = check(optionsSchema, options, 'options', 'invalid_options');
  let place = file === undefined ? null : resolve(file);
  return async (...args) => {
    const journal = new MemoryJournal();
    try {
      if ((await test(journal, ...args)) === false) throw new Error('The test returned false.');
    } catch (error) {
      // A run that fast-check skips has not failed.
      if (isSkipped(error)) throw error;
      place ??= join(mkdtempSync(join(tmpdir(), 'pawl-')), 'counterexample.html');
      const kept = await keep(journal, place, limits).catch(
        (reason) => `Could not save the session: ${reasonOf(reason)}.`,
      );
      const message = `${messageOf(error)}\n${kept}`;
      const isOwn = error instanceof Error && Object.hasOwn(error, 'message');
      if (!isOwn || !Reflect.set(error, 'message', message)) throw new Error(message, { cause: error });
      throw error;
    }
  };
}

function isSkipped(error: unknown): boolean {
  return (
    error instanceof Error && 'footprint' in error && error.footprint === Symbol.for('fast-check/PreconditionFailure')
  );
}

/** Writes the session that was written down last. Returns a sentence about it. */
async function keep(journal: Journal, file: string, limits: BoundLimits | undefined): Promise<string> {
  const [session] = await journal.list({});
  if (session === undefined) return 'No session was recorded: pass `journal` to the session.';
  const entries = await journal.read(session.sessionId);
  const shown = new ShownRecording();
  shown.takePart(new MicrostepReplay().play(entries));
  const broken = firstBreak(shown, limits);
  const html = sessionFile(
    entries,
    broken === null ? {} : { step: broken.step, note: `Broken at step ${broken.step + 1}: ${broken.promise}.` },
  );
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, html);
  const where = broken === null ? '' : ` At step ${broken.step + 1}: ${broken.promise}.`;
  return `Session saved to ${file}.${where}`;
}
