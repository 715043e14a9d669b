import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { emptyCounters } from '../../machines/index.ts';
import type { SessionBudget } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { type Grant, Spending } from '../../src/workflow/run/spending.ts';
import { Tries } from '../../src/workflow/run/tries.ts';

/** What a session spent, with its sub-agents. */
function spent({ sessions = 1, requests = 0, input = 0, output = 0, costUsd = 0 as number | null } = {}) {
  const counters = emptyCounters();
  Object.assign(counters.tree, { sessions, requests, costUsd });
  Object.assign(counters.tree.tokens, { input, output });
  return { counters };
}

const taken = async (spending: Spending): Promise<Grant> => {
  const grant = await spending.grant();
  if ('spent' in grant) throw new Error(`spent: ${grant.spent}`);
  return grant;
};

describe('W-1: the budget of a run, shared by its sessions', () => {
  it('without one, sessions are granted all that they want, and are counted', async () => {
    const spending = new Spending({}, manualClock());
    const grant = await taken(spending);
    expect(grant.budget).toStrictEqual({});
    grant.end(spent({ sessions: 2, requests: 3, input: 5, output: 7, costUsd: 0.5 }));
    (await taken(spending)).end(null);
    (await taken(spending)).end(spent({ requests: 1, costUsd: 0.25 }));
    const totals = { sessions: 3, requests: 4, inputTokens: 5, outputTokens: 7, costUsd: 0.75 };
    expect(spending.totals).toEqual(totals);
    for (const costUsd of [null, 1]) (await taken(spending)).end(spent({ sessions: 0, costUsd }));
    expect(spending.totals).toEqual({ ...totals, costUsd: null });
    expect(spending.spent()).toBeNull();
  });

  it('concurrent sessions have equal shares of what is left, and give back what they did not spend', async () => {
    const spending = new Spending({ requests: 10, tokens: 100, costUsd: 1 }, manualClock());
    spending.sharers = 3;
    const first = await taken(spending);
    expect(first.budget).toStrictEqual({ requests: 4, tokens: 34, costUsd: 1 / 3 });
    const second = await taken(spending);
    expect(second.budget).toEqual({ requests: 3, tokens: 33, costUsd: (1 - 1 / 3) / 2 });
    first.end(spent({ requests: 1, input: 10, output: 4, costUsd: 0.1 }));
    second.end(spent({ requests: 0 }));
    spending.sharers = 1;
    const third = await taken(spending);
    expect(third.budget).toEqual({ requests: 9, tokens: 86, costUsd: 0.9 });
    // More sessions than sharers still get the rest, one after the other.
    third.end(null);
    spending.sharers = 0;
    expect((await taken(spending)).budget.requests).toBe(9);
  });

  it('a rounding error of the money that was spent buys no session', async () => {
    const spending = new Spending({ costUsd: 0.9 }, manualClock());
    for (const costUsd of [0.7, 0.1, 0.1]) (await taken(spending)).end(spent({ costUsd }));
    expect(0.9 - 0.7 - 0.1 - 0.1).toBeGreaterThan(0);
    expect(await spending.grant()).toEqual({ spent: '$0.9' });
  });

  it('a session waits while others hold all that is left', async () => {
    const spending = new Spending({ requests: 2 }, manualClock());
    const first = await taken(spending);
    expect(first.budget).toEqual({ requests: 2 });
    let granted: Grant | { spent: string } | null = null;
    const waiting = spending.grant().then((grant) => {
      granted = grant;
    });
    await new Promise(setImmediate);
    expect([granted, spending.spent()]).toEqual([null, null]);
    first.end(spent({ requests: 1 }));
    await waiting;
    expect(granted).toMatchObject({ budget: { requests: 1 } });
    const last = granted as unknown as Grant;
    const late = spending.grant();
    last.end(spent({ requests: 1 }));
    expect(await late).toEqual({ spent: '2 requests' });
  });

  it.each<[SessionBudget, Parameters<typeof spent>[0], string | null]>([
    [{ requests: 3 }, { requests: 2 }, null],
    [{ requests: 3 }, { requests: 3 }, '3 requests'],
    [{ tokens: 5 }, { input: 2, output: 2 }, null],
    [{ tokens: 5 }, { input: 2, output: 3 }, '5 tokens'],
    [{ costUsd: 0.5 }, { costUsd: 0.4 }, null],
    [{ costUsd: 0.5 }, { costUsd: 0.5 }, '$0.5'],
    [{ costUsd: 0.5 }, { costUsd: null }, '$0.5'],
    [{ requests: 9, tokens: 1 }, { input: 2 }, '1 tokens'],
  ])('of %j, after %j: %s is spent', async (budget, result, limit) => {
    const spending = new Spending(budget, manualClock());
    (await taken(spending)).end(spent(result));
    expect(spending.spent()).toBe(limit);
    const next = await spending.grant();
    expect('spent' in next ? next.spent : null).toBe(limit);
  });

  it('its time runs from its beginning, for all of its sessions', async () => {
    const clock = manualClock();
    const spending = new Spending({ wallClockMs: 100 }, clock);
    spending.sharers = 2;
    clock.advance(40);
    expect((await taken(spending)).budget).toEqual({ wallClockMs: 60 });
    clock.advance(59);
    expect(spending.spent()).toBeNull();
    clock.advance(1);
    expect(spending.spent()).toBe('100 ms');
  });
});

describe('W-1: the runs in which an item failed', () => {
  function tries() {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-tries-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'agent_runs'));
    const problems: string[] = [];
    const file = join(folder, 'agent_runs/tries.json');
    return { made: new Tries(folder, (problem) => problems.push(problem)), file, problems };
  }
  const ended = (run: string, failures: string[], succeeded: string[] = []) => ({
    run,
    failures: failures.map((id) => ({ id })),
    succeeded,
  });

  it('are kept until it succeeds, or until a person looks at it', () => {
    const { made, file, problems } = tries();
    made.note(ended('r0', []));
    expect(existsSync(file)).toBe(false);
    expect([...made.note(ended('r1', ['BUG-1', 'BUG-2']))]).toEqual([
      ['BUG-1', ['r1']],
      ['BUG-2', ['r1']],
    ]);
    made.note(ended('r1', ['BUG-1']));
    expect(made.note(ended('r2', ['BUG-1'], ['BUG-2'])).get('BUG-1')).toEqual(['r1', 'r2']);
    expect(readFileSync(file, 'utf8')).toBe('{\n  "BUG-1": [\n    "r1",\n    "r2"\n  ]\n}\n');
    const { ino } = statSync(file);
    made.forget('BUG-3');
    made.note(ended('r2', ['BUG-1']));
    expect(statSync(file).ino).toBe(ino);
    made.forget('BUG-1');
    expect([JSON.parse(readFileSync(file, 'utf8')), problems]).toEqual([{}, []]);
  });

  it.each(['{', '{"BUG-1":5}', '[]'])('a file that holds %j is reported and replaced', (text) => {
    const { made, file, problems } = tries();
    writeFileSync(file, text);
    expect([...made.note(ended('r1', ['BUG-1']))]).toEqual([['BUG-1', ['r1']]]);
    expect(problems).toEqual([
      expect.stringMatching(/^agent_runs\/tries\.json cannot be read, so earlier failures do not count: \S/),
    ]);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ 'BUG-1': ['r1'] });
    writeFileSync(file, text);
    made.forget('BUG-1');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({});
  });
});
