import { describe, expect, it } from 'vitest';

import { runWorkflow, type WorkFunction } from '../../src/workflow/index.ts';

import { runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

function withBug(over: Record<string, unknown> = {}): TestBacklog {
  const backlog = new TestBacklog();
  backlog.bug(1, over);
  return backlog;
}

describe('W-3: faulty user code and options break nothing', () => {
  it('observers that reject are reported once; random() may throw', async () => {
    const backlog = withBug();
    let time = 0;
    const { result, warnings } = await runOver(
      backlog,
      { process: () => ({ status: 'unavailable', message: 'no' }) },
      {
        random: () => {
          throw new Error('no dice');
        },
        onEvent: () => {
          time += 1;
          return time % 2 === 0 ? Promise.reject(new Error('no pager')) : undefined;
        },
      },
    );
    expect(result.created).toMatchObject([{ title: 'Session failure: Unable to invoke process' }]);
    expect(warnings.filter((line) => line.event === 'observer.failed')).toHaveLength(1);
  });

  it.each([
    ['an agent that never loads', { name: 'slow', load: () => new Promise<never>(() => undefined) }],
    ['a function that never ends', () => new Promise<never>(() => undefined)],
  ])('an abort ends %s, and the report states the reason', async (_, process) => {
    const backlog = withBug();
    const ending = new AbortController();
    const onEvent = (event: { type: string; phase?: string }) => {
      if (event.type === 'phase.started' && event.phase === 'processing')
        setImmediate(() => ending.abort(new Error('home time')));
    };
    const { result, report } = await runOver(backlog, { process }, { signal: ending.signal, onEvent });
    expect(result).toMatchObject({ status: 'exitedEarly', abortReason: 'home time', failures: [], created: [] });
    expect(report).toContain('The run exited early: home time.');
    expect(report).toContain('| BUG-001 | left open when the run ended |');
    expect(backlog.state).toMatchObject({ early_exit_triggered: true, early_exit_reason: 'home time' });
  });

  it.each([
    [{ logger: 5 }, '`logger` must be a logger with debug, info, warn and error, or false for none; got 5.'],
    [{ clock: {} }, '`clock` must be a clock: { now, sleepUntil, alarm }; got {}.'],
  ])('%o is refused', async (over, message) => {
    const options = { backlog: withBug().folder, agents: { process: succeeds }, ...over };
    await expect(runWorkflow(options as never)).rejects.toThrow(message);
  });

  it('S-5: credentials in an error reach no file, and long messages are cut', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number);
    const { result } = await runOver(backlog, {
      process: () => {
        throw new Error(`401 for Bearer sk-ant-api03-SECRET0123456789 ${'and more '.repeat(100_000)}`);
      },
    });
    const prompt = backlog.read(`${result.created[0]?.folder}/PROMPT.md`);
    expect(prompt + backlog.read('.agent-state.json')).not.toContain('SECRET');
    expect(prompt.length).toBeLessThan(40_000);
  });

  it('multi-line messages and long names still produce an item', async () => {
    const backlog = withBug();
    const blocked = await runOver(backlog, {
      process: () => ({ status: 'blocked', message: 'Buy a licence\r\nfrom acme' }),
    });
    expect(blocked.result.created).toMatchObject([{ title: 'Unblock BUG-001: Buy a licence' }]);
    backlog.bug(2);
    const load = () => {
      throw new Error('not there');
    };
    const { result } = await runOver(backlog, { process: { name: 'x'.repeat(300), load } });
    expect(result.problems).toEqual([]);
    expect(result.created[0]?.title).toHaveLength(200);
  });
});
