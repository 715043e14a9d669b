import { z } from 'zod';
import type { Slug } from '../../machines/index.ts';
import { check } from '../input/check.ts';
import { text } from '../input/shapes.ts';
import type { SessionResult } from '../session/session.ts';
import { brokenPromises, checkResult, type Witness } from './invariants.ts';

type Verdict = { pass: boolean; message: () => string };

const slugsSchema = z.array(z.array(text, { error: 'an array of slugs' }), { error: 'an array of arrays of slugs' });

/** The types of the matchers. Declare them as in the guide: `interface Matchers extends PawlMatchers {}`. */
export interface PawlMatchers {
  toKeepItsPromises(witness?: Witness): void;
  toHaveFailedFor(expected: readonly (readonly Slug[])[]): void;
}

/** Matchers for `expect.extend(pawlMatchers)` in vitest or jest. */
export const pawlMatchers = {
  /** Passes if the result keeps the promises that apply to every session. */
  toKeepItsPromises(result: SessionResult, witness: Witness = {}): Verdict {
    const broken = brokenPromises(result, witness);
    return { pass: broken.length === 0, message: () => `broken promises: ${broken.join('; ') || 'none'}` };
  },
  /** Passes if the failed attempts have the expected slugs, in order. */
  toHaveFailedFor(result: SessionResult, expected: readonly (readonly Slug[])[]): Verdict {
    checkResult(result);
    check(slugsSchema, expected, 'expected', 'invalid_options');
    const found = result.turns.flatMap((turn) =>
      turn.attempts.flatMap(({ status, slugs }) => (status === 'failed' ? [slugs] : [])),
    );
    const pass = JSON.stringify(found) === JSON.stringify(expected);
    return {
      pass,
      message: () => `failed attempts: got ${JSON.stringify(found)}; expected ${JSON.stringify(expected)}`,
    };
  },
};
