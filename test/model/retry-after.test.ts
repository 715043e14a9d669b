import { APICallError } from '@ai-sdk/provider';
import { describe, expect, it, vi } from 'vitest';
import { classifyFault, retryAfterMs } from '../../src/model/faults.ts';

const refused = (responseHeaders?: Record<string, string>) =>
  new APICallError({
    ...{ message: 'refused', url: 'http://127.0.0.1/', requestBodyValues: {}, statusCode: 429 },
    ...(responseHeaders !== undefined && { responseHeaders }),
  });

describe('P-3: Retry-After', () => {
  const now = Date.UTC(2026, 0, 1);
  const year = 365 * 24 * 3_600_000;
  it.each<[Record<string, string>, number | null]>([
    [{}, null],
    [{ 'retry-after': '' }, null],
    [{ 'retry-after': '2' }, 2_000],
    [{ 'Retry-After': ' 2 ' }, 2_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '0.0001' }, 1],
    [{ 'retry-after': '1.5' }, 1_500],
    [{ 'retry-after': '3, 3' }, 3_000],
    [{ 'retry-after': '3 , 9' }, 3_000],
    [{ 'retry-after': '3 soon' }, null],
    [{ 'retry-after': '10:30' }, null],
    [{ 'retry-after': '2027-01-01' }, null],
    [{ 'retry-after': 'x 3' }, null],
    [{ 'retry-after': '99999999999' }, year],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:07 GMT' }, 7_000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' }, 0],
    [{ 'retry-after': 'Thu, 01 Jan 2099 00:00:00 GMT' }, year],
    [{ 'retry-after-ms': '1200' }, 1_200],
    [{ 'retry-after-ms': '0.5', 'retry-after': '9' }, 1],
    [{ 'Retry-After-Ms': '-5' }, 0],
    [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, 9_000],
  ])('%j', (headers, ms) => expect(retryAfterMs(headers, now)).toBe(ms));

  it.each(['UTC', 'Asia/Tokyo', 'America/New_York'])('is a date in GMT if it names no zone, in %s', (zone) => {
    vi.stubEnv('TZ', zone);
    const named = 'Thu Jan 01 2026 02:00:07 GMT+0200 (Eastern European Standard Time)';
    for (const date of [
      named,
      'Thu, 1 Jan 2026 12:00:07 AM',
      'Thu Jan  1 00:00:07 2026',
      '2026-01-01T00:00:07',
      'Thu, 01 Jan 2026 02:00:07 +0200',
    ])
      expect([date, retryAfterMs({ 'retry-after': date }, now)]).toEqual([date, 7_000]);
    vi.unstubAllEnvs();
  });

  it('is read from the headers of the response', () => {
    const fault = classifyFault(refused({ 'Retry-After': '2' }), now);
    expect(fault).toEqual({ kind: 'rate_limited', message: 'refused', status: 429, retryAfterMs: 2_000 });
    expect(classifyFault(refused(), now).retryAfterMs).toBeNull();
    expect(classifyFault({ responseHeaders: { 'retry-after': '2' }, message: 'm' }, now).retryAfterMs).toBeNull();
  });
});
