import { describe, expect, it } from 'vitest';
import { allow, defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { schemas, statedIn, stating, verdictIn } from '../../src/workflow/run/stated.ts';
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

describe('W-1: an agent states its verdict as data', () => {
  it('without a report of its own it is asked for a verdict, and corrected until it gives one', async () => {
    const models = [rehearsalModel([report('All is well.'), done('blocked', 'a licence')])];
    const agent = defineAgent({ name: 'worker', models });
    const { result } = await runOver(withBug(), { process: agent });
    expect(result).toMatchObject({ succeeded: [], setAside: ['BUG-001'], spending: { requests: 2 } });
    expect(agent.format.name).toBe('text');
  });

  it('with a report of its own it states one by an object, in both phases, with its own message', async () => {
    const test = reporting({ status: 'failed', message: '2 of 14 tests fail' }, 'json');
    const own = reporting('{"success": false, "reason": "half of it"}');
    const tested = await runOver(withBug(), { process: succeeds, test });
    expect(tested.result.failures).toMatchObject([{ phase: 'testing', message: '2 of 14 tests fail' }]);
    const worked = await runOver(withBug(), { process: own });
    expect(worked.result.failures).toMatchObject([{ phase: 'processing', message: 'half of it' }]);
  });

  it('a report in prose is a failure that says so, however well it sounds', async () => {
    const { result } = await runOver(withBug(), { process: reporting('PASSED: all 14 tests pass') });
    expect(result.failures).toMatchObject([
      { phase: 'processing', message: 'The report states no verdict: PASSED: all 14 tests pass' },
    ]);
  });

  it('an agent that checks its reports, or finishes by text, keeps their format', async () => {
    const checked: unknown[] = [];
    const models = [rehearsalModel([report('{"status":"succeeded"}')])];
    const checkReport = (checking: unknown) => {
      checked.push(checking);
      return allow;
    };
    const agent = defineAgent({ name: 'worker', models, checkReport });
    const { result } = await runOver(withBug(), { process: agent });
    expect(result.succeeded).toEqual(['BUG-001']);
    expect(JSON.stringify(checked)).toContain('succeeded');
    const chat = defineAgent({ name: 'chat', models, finish: 'text' });
    expect(stating(chat, schemas.verdict)).toBe(chat);
  });

  it('is asked for the same schema by the same agent each time', () => {
    const agent = defineAgent({ name: 'worker', models: [rehearsalModel([])] });
    expect(stating(agent, schemas.verdict)).toBe(stating(agent, schemas.verdict));
    expect(stating(agent, schemas.order)).not.toBe(stating(agent, schemas.verdict));
  });

  it('a scan agent without a report of its own is asked for an order', async () => {
    const backlog = withBug();
    backlog.bug(2);
    const models = [rehearsalModel([report('First the second.'), report({ order: ['BUG-002'] })])];
    const scan = defineAgent({ name: 'scanner', models });
    const { result } = await runOver(backlog, { scan, process: succeeds, test: succeeds });
    expect(result.succeeded).toEqual(['BUG-002', 'BUG-001']);
  });
});

describe('W-1: the verdict in a report', () => {
  it.each<[content: unknown, verdict: string]>([
    [{ status: 'succeeded' }, 'succeeded'],
    [{ status: 'succeeded', success: true }, 'succeeded'],
    [{ status: 'failed' }, 'failed'],
    [{ status: 'failed', success: true }, 'failed'],
    [{ status: 'blocked' }, 'blocked'],
    [{ success: true, notes: 'x' }, 'succeeded'],
    [{ success: false }, 'failed'],
    ['{"status":"succeeded"}', 'succeeded'],
    [' {"status":"blocked","message":"a licence"}\n', 'blocked'],
  ])('%j: %s', (content, verdict) => {
    expect(verdictIn(content).verdict).toBe(verdict);
    expect(verdictIn(content).message).not.toContain('verdict');
  });

  it.each<unknown>([
    ...[{ status: 'Succeeded' }, { status: 'done' }, { status: 'passed', success: true }, { success: 'true' }, {}],
    ...[{ result: 'succeeded' }, [{ status: 'succeeded' }], null, 7, '', 'PASSED', 'Status: done'],
    ...['Done. {"status":"succeeded"}', '```json\n{"status":"succeeded"}\n```', '"succeeded"', '{"status":"succeeded"'],
  ])('states no verdict: %j', (content) => {
    expect(verdictIn(content)).toMatchObject({
      verdict: 'failed',
      message: expect.stringContaining('The report states no verdict: '),
    });
  });

  it('of two the worse one counts, and both are named', () => {
    expect(verdictIn({ status: 'succeeded', success: false })).toEqual({
      verdict: 'failed',
      message: 'The report states two verdicts: {"status":"succeeded","success":false}',
    });
  });

  it('comes with its message, or its reason, or else with the whole report', () => {
    expect(verdictIn({ status: 'failed', message: 'm', reason: 'r' }).message).toBe('m');
    expect(verdictIn({ status: 'failed', message: ' ', reason: 'r' }).message).toBe('r');
    expect(verdictIn({ status: 'succeeded', summary: 's' }).message).toBe('s');
    expect(verdictIn({ status: 'failed', message: 7 }).message).toBe('{"status":"failed","message":7}');
    expect(verdictIn(' {"success":true} ').message).toBe('{"success":true}');
  });

  it('nothing is read into what is no object', () => {
    expect([statedIn('[1]'), statedIn([1]), statedIn(null), statedIn('x')]).toEqual([null, null, null, null]);
  });
});
