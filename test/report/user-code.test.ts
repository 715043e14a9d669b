import { describe, expect, it } from 'vitest';

import { defineAgent, type ReportFormat } from '../../src/index.ts';

import { rehearsalModel } from '../../src/testing/index.ts';

import { run } from '../support/session.ts';

const never = new Promise<never>(() => undefined);

const rehearsed = (replies: Parameters<typeof rehearsalModel>[0], over: object = {}) =>
  defineAgent({ name: 'hard', models: [rehearsalModel(replies)], ...over });

describe('user code', () => {
  it.each<[string, Partial<ReportFormat>]>([
    [
      'throws',
      {
        validate: () => {
          throw new Error('no');
        },
      },
    ],
    ['hangs', { validate: () => never }],
    ['gives no verdict', { validate: (() => true) as never }],
    [
      'throws while parsing',
      {
        parseText: () => {
          throw new Error('no');
        },
      },
    ],
  ])('N-1: a report format that %s is check_failed, in a call or in text', async (_how, broken) => {
    const format: ReportFormat = {
      name: 'odd',
      description: 'Anything.',
      contentSchema: {},
      validate: (content) => ({ valid: true, content: String(content) }),
      parseText: (text) => ({ ok: true, content: text }),
      ...broken,
    };
    const { result } = await run({
      agent: rehearsed([{ text: 'Hi.' }], {
        report: { format },
        limits: { maxTurns: 1, maxRetries: 1, toolTimeoutMs: 50 },
      }),
    });
    expect(result.turns[0]?.attempts[0]?.slugs).toContain('check_failed');
    expect(result.turns[0]?.attempts[0]?.reply).not.toBeNull();
  });
});
