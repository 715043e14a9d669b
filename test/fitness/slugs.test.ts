import { APICallError, LoadAPIKeyError } from '@ai-sdk/provider';
import { expect, it } from 'vitest';
import { faultKinds } from '../../machines/contract/faults.ts';
import { classifyFault, timeoutFault } from '../../src/model/faults.ts';
import { interruptedRequest } from '../../src/session/recovery/after-crash.ts';
import { ruleTraces, slugTraces } from '../graph/trace.ts';

it('S-1: every slug is set in code and reached by an HTTP or path test', () => {
  const traces = slugTraces();
  expect(traces.flatMap(({ slug, madeIn }) => (madeIn.length === 0 ? [slug] : []))).toEqual([]);
  expect(traces.flatMap(({ slug, reachedBy }) => (reachedBy.length === 0 ? [slug] : []))).toEqual([]);
});

it('P-1: the classification yields every kind of fault', () => {
  const status = (statusCode: number, responseBody = '') =>
    new APICallError({ message: 'no', url: 'http://x', requestBodyValues: {}, statusCode, responseBody });
  const errors = [
    new LoadAPIKeyError({ message: 'no key' }),
    status(401),
    status(402),
    status(429),
    Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }),
    status(503),
    status(400),
    status(400, '{"error":{"code":"content_filter"}}'),
    status(400, '{"error":{"code":"tool_use_failed"}}'),
    status(400, '{"error":{"code":"context_length_exceeded"}}'),
  ];
  const classified = errors.map((error) => classifyFault(error, 0).kind);
  const kinds = [...classified, timeoutFault('late').kind, interruptedRequest.fault?.kind];
  // The other two say what became of a reply that arrived (G-2).
  expect([...kinds, 'denied', 'unchecked'].toSorted()).toEqual([...faultKinds].toSorted());
});

it('every implemented rule is cited in the code and in a test title', () => {
  const loose = ruleTraces().filter(
    ({ planned, where, shownBy }) => !planned && (where.length === 0 || shownBy.length === 0),
  );
  expect(loose.map(({ id }) => id)).toEqual([]);
});
