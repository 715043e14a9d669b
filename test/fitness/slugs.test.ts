import { expect, it } from 'vitest';
import { ruleTraces, slugTraces } from '../../scripts/verify/trace.ts';

it('S-1: every slug is made somewhere, and reached by a test over a wire or on a path', () => {
  const traces = slugTraces();
  expect(traces.flatMap(({ slug, madeIn }) => (madeIn.length === 0 ? [slug] : []))).toEqual([]);
  const unreached = traces.flatMap(({ slug, reachedBy }) => (reachedBy.length === 0 ? [slug] : []));
  expect(unreached).toEqual([]);
});

it('every rule that is built lives somewhere, and is shown by a test', () => {
  const loose = ruleTraces().filter(
    ({ planned, where, shownBy }) => !planned && (where.length === 0 || shownBy.length === 0),
  );
  expect(loose.map(({ id }) => id)).toEqual([]);
});
