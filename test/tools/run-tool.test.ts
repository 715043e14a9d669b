import { describe, expect, it } from 'vitest';
import { nothingSpent, type ToolOutput } from '../../machines/index.ts';
import type { Slots } from '../../src/shared/slots.ts';
import type { CatalogTool } from '../../src/tools/catalog-tool.ts';
import { BudgetSpentError } from '../../src/tools/result.ts';
import { running } from '../support/running-tool.ts';

const spent = { requests: 2, tokens: 30, costUsd: 0.5 };
const said = (value: string) => ({ type: 'text', value }) as const;
const isFree = async (slots: Slots) => (await slots.takeSlot(AbortSignal.timeout(1_000)))();
const turn = () => new Promise(setImmediate);

describe('C-1 C-3: one call of one tool', () => {
  it('gets its input, its context and a signal, and its value is the answer', async () => {
    let seen: unknown;
    const { outcome, errors, sights, slots, clock } = running((input, run) => {
      const { callId, idempotencyKey, context } = run;
      const told = [run.messages(), run.now(), run.resultPage('r', 2), run.signal.aborted];
      seen = { input, callId, idempotencyKey, context, told };
      run.account(spent);
      run.account(spent);
      return 'found';
    });
    expect(await outcome).toMatchObject({
      ...{ slug: null, output: said('found'), kept: null, spent: { requests: 4, tokens: 60, costUsd: 1 } },
      result: { success: true, value: 'found' },
      tokens: expect.any(Number),
    });
    expect(seen).toEqual({
      ...{ input: { index: 3 }, callId: 'c', idempotencyKey: 's/k', context: { user: 'ada' } },
      told: [['m'], clock.now(), { text: 'r 2', of: 9 }, false],
    });
    expect([errors, sights]).toEqual([[], []]);
    await isFree(slots);
  });

  it.each<[string, unknown, string, string]>([
    ['an error', new Error('full'), 'tool_exec_failed', 'full'],
    ['a budget that is spent', new BudgetSpentError('no more'), 'budget_exhausted', 'no more'],
  ])('%s that it throws is the answer, and the session hears of it', async (_, error, slug, message) => {
    const { outcome, errors, slots } = running((_input, run) => {
      run.account(spent);
      throw error;
    });
    expect(await outcome).toMatchObject({ slug, result: { success: false, value: null, message }, spent });
    expect(errors).toEqual([['look', 'c', error]]);
    await isFree(slots);
  });

  it('a failure that it returns is one', async () => {
    expect(await running(() => ({ success: false, message: 'no' })).outcome).toMatchObject({
      ...{ slug: 'tool_exec_failed', output: { type: 'error-text', value: 'no' } },
    });
  });

  it.each<[object, string]>([
    [{ valid: false, reasons: 'no a' }, 'invalid_tool_input'],
    [{ valid: false, reasons: 'no a', slug: 'check_failed' }, 'check_failed'],
  ])('T-2: an input that %j does not run', async (checked, slug) => {
    let ran = false;
    const execute = () => {
      ran = true;
    };
    const { outcome, slots } = running(execute, {}, { catalog: { checkedInput: async () => checked } });
    expect(await outcome).toMatchObject({ slug, result: { success: false, message: 'no a' }, spent: nothingSpent });
    expect(ran).toBe(false);
    await isFree(slots);
  });

  it('D-2: one that was aborted while its listener was told does not run', async () => {
    let runs = 0;
    const tool: Partial<CatalogTool> = { announce: () => controller.abort(new Error('stopped')) };
    const { outcome, controller } = running(() => {
      runs += 1;
    }, tool);
    expect((await outcome).result.success).toBe(false);
    expect(runs).toBe(0);
  });

  it('D-3: it runs when the lease is held, right before it runs', async () => {
    const asked: string[] = [];
    const lease = {
      isHeld: true,
      renew: async () => {
        asked.push('renewed');
        lease.isHeld = asked.length > 1;
      },
    };
    const lapse = { announce: () => void Object.assign(lease, { isHeld: false }) };
    const { outcome } = running(() => void asked.push('ran'), lapse, { lease });
    expect((await outcome).slug).toBeNull();
    expect(asked).toEqual(['renewed', 'renewed', 'ran']);
  });

  it('a tool that is gone is a failure', async () => {
    const { outcome, errors } = running(() => 1, {}, { tools: { look: undefined } });
    expect(await outcome).toMatchObject({
      ...{ slug: 'tool_exec_failed', result: { success: false, message: 'look is no longer available.' } },
    });
    expect(errors).toHaveLength(1);
  });

  it('C-1: it is cut off at its timeout; what comes late is counted, or told', async () => {
    for (const [tool, ms] of [
      [{}, 50],
      [{ timeoutMs: 70 }, 70],
    ] as const) {
      const late: ((value: unknown) => void)[] = [];
      const fails: ((error: unknown) => void)[] = [];
      let signal: AbortSignal | null = null;
      const { outcome, clock, sights, errors, slots } = running((_input, run) => {
        signal = run.signal;
        run.progress(said('begun'));
        return new Promise((resolve, reject) => {
          late.push((value) => {
            run.progress(said('not shown'));
            resolve(value);
          });
          fails.push(reject);
        });
      }, tool);
      while (late.length === 0) await turn();
      clock.advance(ms - 1);
      await turn();
      expect((signal as AbortSignal | null)?.aborted).toBe(false);
      clock.advance(1);
      const message = `look did not finish within ${ms} ms and was cut off.`;
      expect(await outcome).toMatchObject({
        ...{ slug: 'tool_timeout', output: { type: 'error-text', value: message }, kept: null, spent: nothingSpent },
        result: { success: false, value: null, message },
      });
      expect((signal as AbortSignal | null)?.aborted).toBe(true);
      await isFree(slots);
      late[0]?.('late');
      await turn();
      expect(sights).toEqual([
        { type: 'tool.progressed', callId: 'c', name: 'look', output: said('begun') },
        { type: 'effect.late', key: 'tool call c' },
      ]);
      expect(errors).toEqual([]);
    }
  });

  it("C-1: a person's time is not the tool's, whose own time is bounded after the answer as before", async () => {
    let isAnswered = false;
    const { outcome, clock, questions, sights } = running(
      async (_input, run) => {
        await run.ask({ message: 'Which?', schema: {} });
        isAnswered = true;
        return new Promise(() => undefined);
      },
      { server: 'lib' },
    );
    while (sights.length === 0) await turn();
    for (let waited = 0; waited < 4; waited += 1) {
      clock.advance(50);
      await turn();
    }
    expect(questions.reply('c', { output: { which: 'this' }, isError: false })).toBe(true);
    while (!isAnswered) await turn();
    for (let waited = 0; waited < 2; waited += 1) {
      clock.advance(50);
      await turn();
    }
    expect(await outcome).toMatchObject({ slug: 'tool_timeout' });
    expect(sights).toEqual([
      { type: 'tool.asked', callId: 'c', name: 'look', message: 'Which?', schema: {} },
      { type: 'tool.replied', callId: 'c', name: 'look', accepted: true },
    ]);
  });

  it('C-3: an error that comes late is told', async () => {
    let fail: ((error: Error) => void) | null = null;
    const { outcome, clock, errors } = running(() => new Promise((_resolve, reject) => (fail = reject)));
    while (fail === null) await turn();
    clock.advance(50);
    await outcome;
    (fail as (error: Error) => void)(new Error('late'));
    await turn();
    expect(errors).toEqual([['look', 'c', new Error('late')]]);
  });

  it('a tool that limits itself takes no slot', async () => {
    const { outcome, slots, clock } = running(() => 'done', { timeoutMs: null });
    clock.advance(1_000);
    await isFree(slots);
    expect(await outcome).toMatchObject({ slug: null, output: said('done') });
  });

  it('T-2: others wait for its slot, also one that was aborted', async () => {
    const { outcome, slots, controller } = running(() => new Promise(() => undefined));
    await turn();
    let isTaken = false;
    const taken = slots.takeSlot(new AbortController().signal).then((release) => {
      isTaken = true;
      release();
    });
    await turn();
    expect(isTaken).toBe(false);
    controller.abort(new Error('stopped'));
    expect(await outcome).toMatchObject({ slug: 'tool_timeout' });
    await taken;
  });
});

describe('T-6: what a tool yields', () => {
  it('of an async iterable, the last value counts, and all are shown', async () => {
    async function* values() {
      yield 1;
      yield { a: 2 };
    }
    const { outcome, sights } = running(() => values());
    expect(await outcome).toMatchObject({ slug: null, result: { value: { a: 2 } }, output: said('{"a":2}') });
    // Who watches sees a value with a structure as the last one, which a page gets as it is.
    expect(sights.map((one) => (one as { output: object }).output)).toEqual([
      { type: 'json', value: 1 },
      { type: 'json', value: { a: 2 } },
    ]);
  });

  it('an iterable that never waits ends at its timeout', async () => {
    let asked = 0;
    const endless = {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          asked += 1;
          return { value: asked, done: false };
        },
      }),
    };
    const { outcome, clock } = running(() => endless);
    while (asked === 0) await turn();
    clock.advance(50);
    expect(await outcome).toMatchObject({ slug: 'tool_timeout' });
    await turn();
    const after = asked;
    for (let look = 0; look < 5; look += 1) await turn();
    expect(asked).toBe(after);
  });

  it('progress is cut, and kept nowhere', async () => {
    const { outcome, sights } = running((_input, run) => {
      run.progress(said('a'.repeat(500)));
      run.progress(said('a'.repeat(500)), 300);
      return 'done';
    });
    await outcome;
    const [first, second] = sights.map((one) => (one as { output: { value: string } }).output.value);
    expect(first).toContain('of 500 bytes left out here: the result was too large …]');
    expect([first?.length, second?.length].map((length) => length !== undefined && length <= 400)).toEqual([
      true,
      true,
    ]);
    expect(second?.length).toBeLessThan(first?.length ?? 0);
  });

  it('a large result is kept if the model can read it', async () => {
    const execute = () => 'a'.repeat(500);
    const kept = await running(execute).outcome;
    expect(kept).toMatchObject({ kept: 'a'.repeat(500) });
    expect((kept.output as { value: string }).value).toContain('read all of it with read_result, id r1_2_3');
    const lost = await running(execute, {}, { isReadable: false }).outcome;
    expect(lost).toMatchObject({ kept: null, result: { value: 'a'.repeat(500) } });
  });

  it("the tool's own output goes to the model, unless the value is a failure", async () => {
    const asked: unknown[] = [];
    const toModelOutput = async (...given: unknown[]): Promise<ToolOutput> => {
      asked.push(given);
      return { type: 'json', value: 'own' };
    };
    expect(await running(() => ({ a: 1 }), { toModelOutput }).outcome).toMatchObject({
      ...{ slug: null, result: { value: { a: 1 } }, output: { type: 'json', value: 'own' } },
    });
    const blob = new Blob(['x']);
    expect(await running(() => blob, { toModelOutput }).outcome).toMatchObject({ result: { value: '[Blob]' } });
    expect(asked).toEqual([
      [{ a: 1 }, { index: 3 }, 'c'],
      [blob, { index: 3 }, 'c'],
    ]);
    expect(await running(() => ({ success: false, message: 'no' }), { toModelOutput }).outcome).toMatchObject({
      ...{ slug: 'tool_exec_failed', output: { type: 'error-text', value: 'no' } },
    });
    expect(asked).toHaveLength(2);
  });
});
