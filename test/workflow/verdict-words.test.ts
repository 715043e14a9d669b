import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { lastObject } from '../../src/workflow/backlog/reading/last-object.ts';
import { asObject, statingVerdict, verdictIn } from '../../src/workflow/run/verdict.ts';

const verdict = (content: unknown) => verdictIn(content).verdict;

describe('W-1: the verdict of a report that is an object', () => {
  it.each<object>(
    [
      ...[
        'success',
        'Successful',
        'SUCCEEDED',
        'pass',
        'passed',
        'passing',
        'ok',
        'okay',
        'done',
        'complete',
        'completed',
      ],
      ...['fixed', 'resolved', 'implemented', 'verified', 'true', 'yes', ' *Done!* '],
    ].map((status) => ({ status })),
  )('is a success: %j', (fields) => expect(verdict(fields)).toBe('succeeded'));

  it.each<object>([
    ...['status', 'verdict', 'result', 'outcome', 'state'].map((name) => ({ [name]: 'done' })),
    ...['success', 'succeeded', 'passed', 'ok', 'done', 'completed', 'status'].map((name) => ({ [name]: true })),
    ...[[], 0, '', null, false, 'no', 'None.', 'nothing', 'n/a', '-', '0'].map((errors) => ({
      status: 'done',
      errors,
      blocked: errors,
    })),
    { status: 'done', verdict: 'passed', success: true, failed: 0, failures: [] },
    { status: 'done', other: 'failed' },
    { status: 'succeeded', done: 'Fixed the bug', completed: '2026-01-01' },
    { success: true, result: ['a.ts', 'b.ts'] },
    { success: true, result: { status: 'open', files: 3 } },
    { verdict: { status: 'passed' } },
    { status: ['passed', 'verified'] },
    { status: 'passed', suites: [{ passed: 2, failed: 0, failures: [] }] },
    { status: 'done', failingly: 1, unfailed: 1 },
    { status: 'succeeded', tests: { before: { failed: 3 }, after: { failed: 0 } } },
    { status: 'succeeded', failing_test: 'a.test.ts reproduces it' },
    { status: 'succeeded', failing_tests: ['one that now passes'] },
    { status: 'succeeded', changes: [{ file: 'a.ts', error: 'now thrown' }] },
    { status: 'succeeded', api: { responses: { error: 'string' } } },
    ...['Error handling was added', 'errors are handled now', 'Failing tests were fixed', 'Not only the fix'].map(
      (done) => ({ status: 'succeeded', done, completed: done, passed: done }),
    ),
    { success: true, result: { done: false } },
    ...['0 of 12', 'No errors', '0 failures', 'No failed tests', 'none'].map((failed) => ({ ok: true, failed })),
    { status: 'done', tests: '12 passed, 0 failed', test_results: 'all passed' },
  ])('is a success too: %j', (fields) => expect(verdict(fields)).toBe('succeeded'));

  it.each<object>([
    { status: 'failed' },
    { status: 'unknown' },
    { status: ['passed', 'failed'] },
    { verdict: ['failed'], ok: true },
    { status: 'completed', verdict: { status: 'failed', reason: 'x' } },
    { success: true, result: { status: 'Partially done' } },
    { success: true, outcome: { ok: false } },
    ...[
      'failing',
      'tests_failed',
      'failedTests',
      'numFailedTests',
      'numberOfFailures',
      'error_count',
      'Failed Checks',
    ].map((name) => ({ status: 'passed', [name]: 2 })),
    { status: 'passed', suites: [{ failed: 2 }] },
    ...['unitTestsFailed', 'failed_unit_tests', 'lint_errors', 'errors_found', 'total errors'].map((name) => ({
      ...{ status: 'passed', [name]: '3' },
    })),
    ...['still_failing', 'remaining_failures', 'failing'].map((name) => ({ status: 'passed', [name]: ['a'] })),
    { status: 'passed', tests: '3 failed, 5 passed' },
    { status: 'passed', test_results: '2 failing' },
    { status: 'passed', errors: 'no such file' },
    { status: 'passed', tests: { unit: { a: { failed: 2 } } } },
    ...['failed', 'partial', 'Partly.', 'not yet', 'error', 'no'].map((success) => ({ ok: true, success })),
    { status: '' },
    { note: 'done' },
    { status: 7 },
    { success: 'yes' },
    { status: 'done', verdict: 'failed' },
    ...['success', 'succeeded', 'passed', 'ok', 'done', 'completed', 'verdict'].map((name) => ({
      state: 'done',
      [name]: false,
    })),
    ...['No', 'false', '"no"'].map((success) => ({ status: 'done', success })),
    ...['failed', 'failure', 'failures', 'error', 'errors'].map((name) => ({ status: 'done', [name]: 1 })),
    ...[true, ['x'], 'a test', { a: 1 }].map((error) => ({ status: 'done', error })),
  ])('is a failure: %j', (fields) => expect(verdict(fields)).toBe('failed'));

  it.each<object>([
    { status: 'blocked' },
    { verdict: 'Blocking', status: 'done' },
    { blocked: true, status: 'failed' },
    { status: 'done', blocked: 'A licence is missing.' },
    { status: 'done', blocked: ['a key'] },
  ])('is a blockade, which outweighs all else: %j', (fields) => expect(verdict(fields)).toBe('blocked'));

  it('tells the reason, the message or the summary that it has, or else all of it', () => {
    const message = (fields: object) => verdictIn(fields).message;
    expect(message({ status: 'failed', reason: 'R', message: 'M', summary: 'S' })).toBe('R');
    expect(message({ status: 'failed', reason: ' ', message: 'M', summary: 'S' })).toBe('M');
    expect(message({ status: 'failed', reason: 7, summary: 'S' })).toBe('S');
    expect(message({ status: 'failed' })).toBe('{"status":"failed"}');
  });

  it.each([7, null, true, ['done'], undefined])('%j states none', (content) => {
    expect(verdictIn(content)).toEqual({
      verdict: 'failed',
      message: expect.stringMatching(/^The report states no verdict: /),
    });
  });
});

describe('W-1: the verdict of a report that is a text', () => {
  it.each<[string, string]>([
    ...[
      'PASSED',
      'Done.',
      '**Done**',
      '# Fixed',
      '> ok',
      '`verified`',
      'Status: done',
      'verdict = passed',
      'Result: **PASSED**',
      'Outcome: yes',
    ].map((text) => [text, 'succeeded'] as [string, string]),
    ...[
      'PASSED: all of 14 tests',
      'Passed – 14/14',
      'Done — fixed 3 failures',
      'Done - failed: 0',
      'Done: 2 of 2',
      'Passed: 3 failures: 0',
      'Done: the 2 failures are gone',
      'Passed: all 3 failed: 0',
    ].map((text) => [text, 'succeeded'] as [string, string]),
    ...[
      'FAILED',
      'Failure: x',
      'fails',
      'Failing',
      'fail',
      'Error: x',
      'errors',
      'Status: unknown',
      'status: partly',
      'Result: 3',
    ].map((text) => [text, 'failed'] as [string, string]),
    ...[
      'Passed: no',
      'Passed: none.',
      'Done: false!',
      'Done: not yet',
      'Done: partially',
      'Done: partly',
      'Complete: almost',
      'Fixed: nearly',
      'Done - 3 of 10',
      'Passed: 3/14',
      'Passed: 3 out of 14',
    ].map((text) => [text, 'failed'] as [string, string]),
    ...[
      'Passed: 3, failed: 7',
      'Passed: 3, errors = 2',
      'Done: 2 of 14 tests fail',
      'Done: 2 checks still failed',
      'Passed: 12 failures',
    ].map((text) => [text, 'failed'] as [string, string]),
    ...['BLOCKED', 'Blocked: a licence', 'block', 'blocking - x'].map((text) => [text, 'blocked'] as [string, string]),
    ...['I did it.', '', 'The tests passed', 'Everything is done', 'blockade'].map(
      (text) => [text, 'failed'] as [string, string],
    ),
  ])('%j is %s', (text, expected) => expect(verdict(text)).toBe(expected));

  it('is the worse of its first and its last line', () => {
    expect(verdict('PASSED\n\nMore words.\n')).toBe('succeeded');
    expect(verdict('More words.\n\nPASSED\n  \n')).toBe('succeeded');
    expect(verdict('PASSED\nMore.\nFAILED')).toBe('failed');
    expect(verdict('FAILED\nMore.\nBLOCKED')).toBe('blocked');
    expect(verdict('PASSED\nFAILED\nDone')).toBe('succeeded');
    expect(verdict(`${'#'.repeat(200)} PASSED`)).toBe('failed');
  });

  it.each([
    ['PASSED: 12 passing, 3 failing', 'failed'],
    ['Passed: 3 tests are failing', 'failed'],
    ['Done: 12 passed, failing: 3', 'failed'],
    ['Passed: 2 checks are still failing', 'failed'],
    ['PASSED: 12 passing, 0 failing', 'succeeded'],
    ['Done: 3 failing tests pass now', 'succeeded'],
    ['Fixed: the 3 failing checks', 'succeeded'],
    ['Done: 3 failing assertions corrected', 'succeeded'],
    ['Passed: failing 3 times before, now stable', 'succeeded'],
    ['Passed (12 passing, 3 failing)', 'failed'],
    ['Tests failed: 3 of 10\n\nPASSED', 'failed'],
    ['PASSED\n\nMore.\n\n2 tests failed', 'failed'],
    ['Done: 12 tests, 1 error', 'failed'],
    ['Done: 12 tests, 0 errors', 'succeeded'],
    ['{"status":"success","tests":{"passed":10,"failed":2}}', 'failed'],
    ['{"status":"success","tests":{"passed":10,"failed":0},"errors":{}}', 'succeeded'],
    ['[{"status":"failed"},{"status":"passed"}]', 'failed'],
  ])('counts what failed: %j is %s', (text, is) => expect(verdict(text)).toBe(is));

  it('is in its last object, if it has one, and its message is the text', () => {
    expect(verdict('FAILED? No: {"status":"done"}')).toBe('succeeded');
    expect(verdictIn(' PASSED: x \n').message).toBe('PASSED: x');
    expect(verdictIn('Words.')).toEqual({ verdict: 'failed', message: 'The report states no verdict: Words.' });
    expect(verdictIn('So: {"status":"done"}').message).toBe('So: {"status":"done"}');
    expect(verdictIn('{"status":"failed","tests":[{"status":"passed"}],}')).toMatchObject({
      verdict: 'failed',
      message: expect.stringContaining('The JSON of the report cannot be read'),
    });
  });
});

describe('the last object of a text', () => {
  it.each<[string, unknown]>([
    ['{"a":1}', { a: 1 }],
    [' {} ', {}],
    ['x {} y', null],
    ['x {"a":1} {} y', { a: 1 }],
    ['x {"a":1} {"b":{"c":2}} y', { b: { c: 2 } }],
    ['{ no {"a":1}', { a: 1 }],
    ['{"a":"}{"} z', { a: '}{' }],
    ['x {"a":"\\"}"} y', { a: '"}' }],
    ['x {"a":"cut\n"} {"b":1}', { b: 1 }],
    ['{"a":"never closed', null],
    ['[{"a":1}]', { a: 1 }],
    ['[{"a":1},{"a":2}]', null],
    ['Not {"a":1}, but {"a":2}', { a: 2 }],
    ['{"a":1,} {"b":2}', { b: 2 }],
    ['{"a":[{"b":1}],}', null],
    ['{"a":{"b":1}, // so\n"c":2}', null],
    ['{"a":1,"b":[{"c":2}', null],
    ['{"a":"one\ntwo","b":{"c":2}}', null],
    ['The log: {"a":"cut\n{"b":1}', { b: 1 }],
    ['if (x) { say("{"); }\n{"b":1}', { b: 1 }],
    ['[1]', null],
    ['7', null],
    ['', null],
  ])('%j', (text, object) => expect(lastObject(text)).toEqual(object));

  it('is found wherever it stands', () => {
    expect(lastObject('{"late":1}'.padEnd(100_000, 'x'))).toEqual({ late: 1 });
  });

  it.each([null, 'text', 7, [1], undefined])('%j is no object', (value) => expect(asObject(value)).toBeNull());
});

describe('an agent that works', () => {
  const models = [rehearsalModel([])];

  it('is asked for a verdict, unless its own report may state one', () => {
    const agent = defineAgent({ name: 'worker', models });
    const stating = statingVerdict(agent);
    expect(stating.definition.report).toEqual({
      format: 'json',
      schema: {
        type: 'object',
        properties: {
          status: {
            enum: ['succeeded', 'failed', 'blocked'],
            description: 'blocked: a person has to do something first',
          },
          message: {
            type: 'string',
            minLength: 1,
            description: 'what was done; or why not, or what a person has to do',
          },
        },
        required: ['status', 'message'],
      },
    });
    expect(statingVerdict(agent)).toBe(stating);
    for (const own of [{ report: { format: 'text' } }, { finish: 'text' }, { checkReport: () => ({ pass: true }) }]) {
      const other = defineAgent({ name: 'worker', models, ...own } as never);
      expect(statingVerdict(other)).toBe(other);
    }
  });
});
