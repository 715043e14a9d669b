import { describe, expect, it } from 'vitest';

import { defineAgent } from '../../src/index.ts';

import { rehearsalModel } from '../../src/testing/index.ts';

import type { WorkFunction } from '../../src/workflow/index.ts';

import { runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

function reporting(content: unknown, format: 'text' | 'json' = 'text') {
  const models = [rehearsalModel([{ calls: [{ name: 'final_report', input: { content } }] }])];
  return defineAgent({ name: 'reporter', models, report: { format } });
}

function withBug(over: Record<string, unknown> = {}): TestBacklog {
  const backlog = new TestBacklog();
  backlog.bug(1, over);
  return backlog;
}

describe('W-1: agent verdicts are recognized in every form', () => {
  it.each([
    ['text', '{"status":"failed","reason":"3 tests fail"}'],
    ['fenced text', '```json\n{"status": "FAILED"}\n```'],
    ['an object', { status: 'Failure' }, 'json'],
    ['an object with an unknown status', { status: 'partly' }, 'json'],
  ] as const)('a test agent that reports failure as %s fails the item', async (_, content, format?: 'json') => {
    const { result } = await runOver(withBug(), { process: succeeds, test: reporting(content, format) });
    expect(result).toMatchObject({ succeeded: [], failures: [{ id: 'BUG-001', phase: 'testing' }] });
  });

  it('text without a verdict is a success, and a scan order may be text', async () => {
    const backlog = withBug();
    backlog.bug(2);
    const scan = reporting('{"order": ["BUG-002"]}');
    const { result } = await runOver(backlog, { scan, process: succeeds, test: reporting('All 12 tests pass.') });
    expect(result.succeeded[0]).toBe('BUG-002');
  });
});
