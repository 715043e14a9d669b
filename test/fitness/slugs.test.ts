import { expect, it } from 'vitest';
import { ruleTraces, slugTraces } from '../../scripts/verify/trace.ts';

it('S-1: the code produces every slug, and a wire or path test reaches it', () => {
  const traces = slugTraces();
  expect(traces.flatMap(({ slug, madeIn }) => (madeIn.length === 0 ? [slug] : []))).toEqual([]);
  const unreached = traces.flatMap(({ slug, reachedBy }) => (reachedBy.length === 0 ? [slug] : []));
  expect(unreached).toEqual([]);
});

it('every rule that is not planned is cited in the code and in a test', () => {
  const loose = ruleTraces().filter(
    ({ planned, where, shownBy }) => !planned && (where.length === 0 || shownBy.length === 0),
  );
  expect(loose.map(({ id }) => id)).toEqual([]);
});
