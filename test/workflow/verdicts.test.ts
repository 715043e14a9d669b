import { describe, expect, it } from 'vitest';

import { allow, defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { verdictIn } from '../../src/workflow/run/verdict.ts';
import { done, runOver, TestBacklog } from '../support/backlog.ts';
import { report } from '../support/session.ts';

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

  it.each([
    ['PASSED\n\nI replaced `const cache = {};` with a map.', 'succeeded'],
    ['FAILED\n\nI replaced `const cache = {};` with a map.', 'failed'],
    ['{"status": "failed"} {}', 'failed'],
    ['PASSED {"failed": 2}', 'failed'],
    ['{}', 'failed'],
  ])('an empty object is no verdict: %j', (text, verdict) => {
    expect(verdictIn(text)).toMatchObject({ verdict });
  });

  it('a scan order may stand in a text', async () => {
    const backlog = withBug();
    backlog.bug(2);
    const scan = reporting('First the second:\n\n```json\n{"order": ["BUG-002"]}\n```\n');
    const { result } = await runOver(backlog, { scan, process: succeeds, test: succeeds });
    expect(result.succeeded).toEqual(['BUG-002', 'BUG-001']);
  });

  it('an agent without a report format of its own is asked for a verdict, and corrected until it gives one', async () => {
    const models = [rehearsalModel([report('All is well.'), done('blocked', 'a licence')])];
    const agent = defineAgent({ name: 'worker', models });
    const { result } = await runOver(withBug(), { process: agent });
    expect(result).toMatchObject({ succeeded: [], setAside: ['BUG-001'], spending: { requests: 2 } });
    expect(agent.format.name).toBe('text');
  });

  it('an agent that checks its reports keeps their format', async () => {
    const checked: unknown[] = [];
    const models = [rehearsalModel([report('PASSED')])];
    const checkReport = (checking: unknown) => {
      checked.push(checking);
      return allow;
    };
    const agent = defineAgent({ name: 'worker', models, checkReport });
    const { result } = await runOver(withBug(), { process: agent });
    expect(result.succeeded).toEqual(['BUG-001']);
    expect(JSON.stringify(checked)).toContain('PASSED');
  });

  it('in both phases, and with its own message', async () => {
    const test = reporting('I ran them.\n\n{"status": "failed", "message": "2 of 14 tests fail"}\n\nThat is all.');
    const own = reporting('I could not.\n```json\n{"status":"partial","reason":"half of it"}\n```');
    const tested = await runOver(withBug(), { process: succeeds, test });
    expect(tested.result.failures).toMatchObject([{ phase: 'testing', message: '2 of 14 tests fail' }]);
    const worked = await runOver(withBug(), { process: own });
    expect(worked.result.failures).toMatchObject([{ phase: 'processing', message: 'half of it' }]);
  });
});

describe('W-1: the verdict in a report', () => {
  it.each<[content: unknown, verdict: string]>([
    [{ status: 'succeeded' }, 'succeeded'],
    [{ status: 'Completed.' }, 'succeeded'],
    [{ success: true, notes: 'x' }, 'succeeded'],
    [{ done: true }, 'succeeded'],
    [{ result: 'passed', failed: 0, failures: [] }, 'succeeded'],
    [{ verdict: '✅ Passed' }, 'succeeded'],
    ['Status: done', 'succeeded'],
    ['All 14 tests ran.\n\n**PASSED**', 'succeeded'],
    ['DONE: the index is rebuilt', 'succeeded'],
    ['Prose. {"status":"failed"} More prose. {"status":"succeeded"}', 'succeeded'],
    ['{"status":"succeeded","log":"a } and a { in a \\" text"}', 'succeeded'],
    ['Passed: 12, failed: 0', 'succeeded'],
    ['Done: 3 of 3', 'succeeded'],
    ['Passed: 3 Failed: 0', 'succeeded'],
    ['PASSED: no failures', 'succeeded'],
    ['Success: no errors were found', 'succeeded'],
    ['Done: fixed 3 errors', 'succeeded'],
    ['Done: fixed 3 failures', 'succeeded'],
    ['Passed: 12 tests (0 failed, 0 errors)', 'succeeded'],
    ['Fixed: false positives are gone', 'succeeded'],
    ['Fixed: error 500 is gone', 'succeeded'],
    ['Done: 2 of 14 tests fail', 'failed'],
    ['Passed 3: failed 7', 'failed'],
    ['Passed: not all', 'failed'],
    ['Done: the failing test passes', 'succeeded'],
    ['Success: false', 'failed'],
    ['**Success:** No', 'failed'],
    ['Implemented: partially', 'failed'],
    ['Tests ran.\nPassed: 3, failed: 7', 'failed'],
    ['passed – 3 of 10', 'failed'],
    ['Passed: 3/10', 'failed'],
    ['Done - but 3 tests still fail', 'failed'],
    ['Done: errors: 2', 'failed'],
    ['FAILED: 2 tests fail\n\nDetails.\n\nDone.', 'failed'],
    ['Done\n\nFAILED', 'failed'],
    ['BLOCKED: a licence\nDone', 'blocked'],
    ['FAILED\nBLOCKED: a licence', 'blocked'],
    [{ status: 'passed', success: 'false' }, 'failed'],
    [{ status: 'passed', completed: '2026-01-01' }, 'succeeded'],
    [{ success: false }, 'failed'],
    [{ status: 'completed', success: false }, 'failed'],
    [{ status: 'passed', failed: 2 }, 'failed'],
    [{ status: 'passed', errors: ['E1'] }, 'failed'],
    [{ status: 'partial' }, 'failed'],
    [{ status: 'completed with errors' }, 'failed'],
    [{ summary: 'I looked at it' }, 'failed'],
    [['done'], 'failed'],
    [null, 'failed'],
    ['', 'failed'],
    ['2 of 14 tests fail', 'failed'],
    ['All is well, I think.', 'failed'],
    ['FAILED: the build', 'failed'],
    ['Status: almost', 'failed'],
    ['It went well: {"status":"succeeded"} but then {"status":"failed"}', 'failed'],
    ['{"status": "succeeded", "tests": {"status": "failed"}', 'failed'],
    ['Words, then a fence.\n```json\n{"status":"failed"}\n```', 'failed'],
    ['BLOCKED: a licence is needed', 'blocked'],
    ['# Blocked\n\nA licence is needed.', 'blocked'],
    [{ status: 'blocked', success: true }, 'blocked'],
    [{ blocked: true, status: 'done' }, 'blocked'],
  ])('%j: %s', (content, verdict) => {
    expect(verdictIn(content).verdict).toBe(verdict);
  });

  it('is found in time, whatever the text', () => {
    for (const text of [
      '{'.repeat(200_000),
      '{"a":'.repeat(50_000),
      '{ "'.repeat(50_000),
      '}'.repeat(100_000),
      `${'.'.repeat(500_000)}a`,
    ]) {
      expect(verdictIn(text).verdict).toBe('failed');
      // Behind a key without a value it may be that value.
      const isValue = text.endsWith(':');
      expect(verdictIn(`${text}\n{"status":"succeeded"}`).verdict).toBe(isValue ? 'failed' : 'succeeded');
    }
  });
});
