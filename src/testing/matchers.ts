import type { Slug } from '../../machines/index.ts';
import type { SessionResult } from '../session.ts';
import { brokenPromises, type Witness } from './invariants.ts';

type Verdict = { pass: boolean; message: () => string };

/** What the matchers add to an assertion, to be declared as the guide does: `interface Matchers extends PawlMatchers {}`. */
export interface PawlMatchers {
  toKeepItsPromises(witness?: Witness): void;
  toHaveFailedFor(expected: readonly (readonly Slug[])[]): void;
}

/** For `expect.extend(pawlMatchers)` of vitest or jest. */
export const pawlMatchers = {
  /** The result keeps all the promises that hold of every session. */
  toKeepItsPromises(result: SessionResult, witness: Witness = {}): Verdict {
    const broken = brokenPromises(result, witness);
    return { pass: broken.length === 0, message: () => `broken promises: ${broken.join('; ') || 'none'}` };
  },
  /** The reasons of the failed attempts, in order, attempt by attempt. */
  toHaveFailedFor(result: SessionResult, expected: readonly (readonly Slug[])[]): Verdict {
    const found = result.turns.flatMap((turn) =>
      turn.attempts.flatMap(({ status, slugs }) => (status === 'failed' ? [slugs] : [])),
    );
    const pass = JSON.stringify(found) === JSON.stringify(expected);
    return { pass, message: () => `failed attempts: ${JSON.stringify(found)}, and not ${JSON.stringify(expected)}` };
  },
};
