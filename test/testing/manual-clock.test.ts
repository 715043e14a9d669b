import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { callsIn, counters, report, run } from '../support/session.ts';

const calls = (...names: string[]) => ({ calls: names.map((name) => ({ name })) });
const never = () => new Promise<never>(() => undefined);

describe('the manual clock', () => {
  it('C-1: ends the timeout of a tool that hangs, without waiting for it', async () => {
    const clock = manualClock();
    const agent = defineAgent({
      name: 'hanging',
      models: [rehearsalModel([calls('hangs', 'works'), report()])],
      tools: { hangs: never, works: () => 'worked' },
    });
    const { result } = await run({
      agent,
      clock,
      alarms: 'manual',
      during: (event) => {
        if (event.type === 'tool.answered' && event.name === 'works') clock.advance(agent.limits.toolTimeoutMs);
      },
    });
    expect(callsIn(result).map(({ name, slug }) => [name, slug])).toEqual([
      ['hangs', 'tool_timeout'],
      ['works', null],
      ['final_report', null],
    ]);
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 1, failed: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        costUsd: null,
        tokens: result.counters.tokens,
      }),
    );
  });

  it('D-1: rings alarms in the order they are due, and skips through a wait', async () => {
    const clock = manualClock({ start: 0 });
    const rung: [string, number][] = [];
    const note = (name: string) => () => void rung.push([name, clock.now()]);
    clock.alarm(30, note('late'));
    clock.alarm(10, note('early'));
    clock.alarm(20, note('cancelled'))();
    clock.advance(5);
    expect(rung).toEqual([]);
    await clock.sleepUntil(40, new AbortController().signal);
    expect(rung).toEqual([
      ['early', 10],
      ['late', 30],
    ]);
    expect([clock.now(), clock.waits]).toEqual([40, [35]]);
  });

  it('D-2: with hold, a wait lasts until the test advances the clock', async () => {
    const clock = manualClock({ start: 0, hold: true });
    let over = false;
    const wait = clock.sleepUntil(1_000, new AbortController().signal).then(() => {
      over = true;
    });
    clock.advance(999);
    await Promise.resolve();
    expect(over).toBe(false);
    clock.advance(1);
    await wait;
    expect(over).toBe(true);
  });
});
