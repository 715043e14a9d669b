import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { defineAgent, runSession } from '../../src/index.ts';
import { evaluate, type PawlMatchers, pawlMatchers, rehearsalModel } from '../../src/testing/index.ts';

declare module 'vitest' {
  interface Matchers extends PawlMatchers {}
}
expect.extend(pawlMatchers);
const folder = mkdtempSync(join(tmpdir(), 'pawl-evaluations-'));
afterAll(() => rmSync(folder, { recursive: true }));
const report = (content: string) => ({ calls: [{ name: 'final_report', input: { content } }] });

/** Adds two numbers, but for some. */
function adder(wrong: readonly string[]) {
  const model = rehearsalModel(({ prompt }) => {
    const [, one = '', other = ''] = /(\d+) and (\d+)/.exec(JSON.stringify(prompt)) ?? [];
    const sum = Number(one) + Number(other) + (wrong.includes(one) ? 1 : 0);
    return one === '9' ? { text: '' } : { ...report(String(sum)), usage: { input: 100, output: 10 } };
  });
  return defineAgent({
    ...{ name: 'adder', models: [model], limits: { maxRetries: 1 } },
    pricing: { 'rehearsal:script': { input: 1, output: 10 } },
  });
}
const cases = ['1', '2', '3'].map((one) => ({
  name: `sum ${one}`,
  prompt: `Add ${one} and 4.`,
  expected: String(Number(one) + 4),
}));
const judges = {
  right: ({ report: said }: { report: { content: unknown } }, { expected }: { expected?: string }) =>
    said.content === expected,
  brief: ({ report: said }: { report: { content: unknown } }) => 1 / String(said.content).length,
};

describe('an evaluation', () => {
  it('scores each case by each judge, is kept, and is compared with the last one', async () => {
    const file = join(folder, 'scores.json');
    const first = await evaluate(adder(['2']), cases, { judges, runs: 2, file });
    expect(first.cases['sum 2']).toEqual({
      ...{ scores: { right: 0, brief: 1 }, succeeded: 2, runs: 2, requests: 2, costUsd: expect.closeTo(0.0004, 9) },
    });
    expect(first.all.scores).toEqual({ right: expect.closeTo(2 / 3, 9), brief: 1 });
    expect([first.change, first.worse]).toEqual([null, []]);
    const slow = async () => {
      await new Promise(setImmediate);
      return 1;
    };
    const atOnce = await evaluate(adder([]), cases, { judges: { slow }, runs: 4, concurrency: 12 });
    expect(atOnce.all.scores).toEqual({ slow: 1 });
    expect(first.table).toBe(`       right  brief  succeeded  requests     cost
sum 1   1.00   1.00        2/2         2  $0.0004
sum 2   0.00   1.00        2/2         2  $0.0004
sum 3   1.00   1.00        2/2         2  $0.0004
all     0.67   1.00        6/6         6  $0.0012`);
    const second = await evaluate(adder(['1', '3']), cases, { judges, runs: 2, file });
    expect(second.change).toEqual({ right: expect.closeTo(-1 / 3, 9), brief: 0 });
    expect(second.worse).toEqual(['sum 1', 'sum 3']);
    expect(second.table).toContain('worse than the last time');
    expect(second.table).toContain('since the last time  -0.33  +0.00');
    expect(JSON.parse(readFileSync(file, 'utf8')).all.scores.right).toBeCloseTo(1 / 3, 9);
  });

  it('without judges, a session that succeeds is right', async () => {
    const { all } = await evaluate(adder([]), [...cases, { name: 'fails', prompt: 'Add 9 and 4.' }]);
    expect(all).toMatchObject({ scores: { succeeded: 0.75 }, succeeded: 3, runs: 4 });
  });

  it('bad input is told, and a file of something else stays as it is', async () => {
    const file = join(folder, 'other.json');
    writeFileSync(file, '{}');
    await expect(evaluate(adder([]), cases, { file })).rejects.toThrow('holds no scores');
    expect(readFileSync(file, 'utf8')).toBe('{}');
    const twice = [...cases, ...cases];
    await expect(evaluate(adder([]), twice)).rejects.toThrow('cases with different names');
    const bad = { judges: { bad: () => 2 } };
    await expect(evaluate(adder([]), cases, bad)).rejects.toThrow('a number from 0 to 1');
    await expect(evaluate(adder([]), [{ name: 'x', prompt: ' ' }])).rejects.toThrow('The case "x" cannot run');
    await expect(evaluate(adder([]), cases, { judge: {} } as never)).rejects.toThrow('Unknown option `options.judge`.');
    expect(existsSync(join(folder, 'scores-no.json'))).toBe(false);
  });
});

describe('matchers', () => {
  const run = (prompt: string) => runSession(adder([]), { prompt, logger: false });

  it('of a result', async () => {
    const result = await run('Add 1 and 4.');
    expect(result).toHaveSucceeded();
    expect(result).toHaveCost(0.01);
    expect(result).not.toHaveCost(0.0001);
    expect(result).not.toHaveEndedWith('aborted');
    expect(result).not.toHaveCalled('search', { title: 'Ulysses' });
    const failed = await run('Add 9 and 4.');
    expect(failed).not.toHaveSucceeded();
    expect(failed).toHaveEndedWith('empty_response');
    expect(() => expect(failed).toHaveSucceeded()).toThrow('the session failed: retries_exhausted, empty_response');
    expect(() => expect(result).toHaveCalled('search')).toThrow('it was not called');
  });

  it('over many runs', async () => {
    let count = 0;
    const flaky = () => {
      count += 1;
      return run(count % 10 === 0 ? 'Add 9 and 4.' : 'Add 1 and 4.');
    };
    await expect(flaky).toSucceedIn(18, 20);
    count = 0;
    await expect(expect(flaky).toSucceedIn(19, 20)).rejects.toThrow(
      '18 of 20 succeeded; asked for 19. 2 x failed: retries_exhausted, empty_response',
    );
  });
});
