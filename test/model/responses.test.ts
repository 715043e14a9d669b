import { describe, expect, it } from 'vitest';

import { z } from 'zod';

import { retryAfterMs } from '../../src/model/faults.ts';

import { report, runOverWire } from '../support/session.ts';

describe('server responses', () => {
  it.each(['99999999999999999999', '9'.repeat(400)])(
    'P-3 F-5: Retry-After %s ends the session with a report',
    async (after) => {
      const { result } = await runOverWire({ script: [{ status: 429, headers: { 'retry-after': after } }] });
      expect(result.slugs).toContain('no_targets');
      expect(result.failure?.retryAt).toBeGreaterThan(0);
    },
  );

  it('N-1 F-4: an agent that finishes with text gets a notice about it that mentions no tool', async () => {
    const { result, requests } = await runOverWire({
      script: [{ text: 'no JSON' }, { text: '{"a":1}' }],
      definition: { finish: 'text', report: { format: 'json', schema: z.object({ a: z.number() }) } },
    });
    expect(result.report.content).toEqual({ a: 1 });
    expect(result.turns[0]?.attempts[0]?.slugs).toEqual(['final_report_invalid_format']);
    const notice = requests[1]?.body.messages.at(-1)?.content;
    expect(notice).toContain('Read the reasons, and reply again in the required format.');
    expect(notice).not.toMatch(/text alone|tool call/);
  });

  it('P-3: an invalid Retry-After is ignored', () => {
    expect(retryAfterMs({ 'retry-after': '-5' }, 0)).toBeNull();
    expect(retryAfterMs({ 'retry-after': 'soon' }, 0)).toBeNull();
  });

  it.each([
    [
      429,
      { code: 'rate_limit_exceeded', message: 'Rate limit reached. Visit /account/billing for more.' },
      'rate_limited',
    ],
    [429, { code: 'insufficient_quota', message: 'You exceeded your current quota.' }, 'provider_quota'],
    [503, { message: 'upstream billing-service unavailable' }, 'provider_error'],
    [400, { type: 'invalid_request_error', message: 'Your credit balance is too low.' }, 'provider_quota'],
  ])('P-1: %i with %j is classified as %s', async (status, error, slug) => {
    const { result } = await runOverWire({ script: [{ status, error }, report()] });
    expect(result.turns[0]?.attempts[0]?.slugs).toEqual([slug]);
  });

  it('C-5: a connection that stays open after the finish does not break the reply', async () => {
    const { result } = await runOverWire({
      wire: 'anthropic',
      script: [{ ...report(), hang: { afterBytes: 100_000 } }],
      definition: { limits: { modelIdleTimeoutMs: 5_000 } },
    });
    expect(result.success).toBe(true);
    expect(result.counters.failedAttempts).toBe(0);
  });
});
