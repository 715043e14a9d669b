import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  approveSession,
  defineAgent,
  replaySession,
  resumeSession,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { until } from '../support/journaled.ts';
import { report } from '../support/session.ts';
import { temporaryFolder } from '../support/temporary.ts';

const inputSchema = z.object({});
const program = join(import.meta.dirname, '../support/paying-process.ts');

/** Kills of a whole run; more of them take minutes. */
const kills = Number(process.env.PAWL_KILLS ?? 6);

/** A destination that keeps a ledger. It kills who pays, before or after the payment stands in the ledger. */
async function destination(chance: () => number) {
  const ledger = new Map<string, string[]>();
  const state = { left: kills, child: null as ReturnType<typeof spawn> | null };
  const server = createServer(async (request, response) => {
    const key = decodeURIComponent(String(request.url).replace('/payments/', ''));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method === 'POST') {
      const isDone = chance() < 0.6;
      const dies = state.left > 0 && chance() < 0.8;
      if (isDone || !dies) ledger.set(key, [...(ledger.get(key) ?? []), Buffer.concat(chunks).toString()]);
      if (dies) {
        state.left -= 1;
        state.child?.kill('SIGKILL');
        response.destroy();
        return;
      }
    }
    response.end(JSON.stringify({ paid: ledger.get(key)?.[0] ?? null }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    ledger,
    state,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

it(`D-7: killed between effect and record, ledger and conversation agree, and nothing is paid twice`, {
  timeout: 20_000 + 2_000 * kills,
}, async () => {
  let seed = 7;
  const chance = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  await using bank = await destination(chance);
  let sessions = 0;
  while (bank.state.left > 0 || sessions === 0) {
    sessions += 1;
    bank.ledger.clear();
    const file = join(temporaryFolder(), 'pawl.db');
    for (let code: number | null = null; code === null; ) {
      const child = spawn(process.execPath, ['--no-warnings', program, file, bank.url], { stdio: 'inherit' });
      bank.state.child = child;
      code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
    }
    const journal = sqliteJournal(file);
    const { conversation, difference, turns } = await replaySession(journal, 's');
    expect([difference, (await journal.list({}))[0]?.status]).toEqual([null, 'succeeded']);
    const paid = [...bank.ledger.values()];
    expect(paid.toSorted()).toEqual([0, 1, 2, 3, 4, 5].map((bill) => [`bill-${bill}`]));
    const said = JSON.stringify(conversation);
    for (const [bill] of paid) expect(said).toContain(`paid ${bill}`);
    expect(said).not.toContain('interrupted');
    expect(turns.at(-1)?.status).toBe('finished');
    await journal.close();
  }
});

describe('D-7: a call that ran when its process died', () => {
  async function crashed(reconcile: unknown, isFunction = false) {
    let [runs, asks] = [0, 0];
    const seen: unknown[] = [];
    const execute = (): Promise<string> | string => {
      runs += 1;
      return runs === 1 ? new Promise<string>(() => {}) : 'ran again';
    };
    const own = {
      reconcile: (call: object) => {
        asks += 1;
        seen.push(call);
        return (reconcile as () => unknown)();
      },
    };
    const pay = isFunction ? Object.assign(() => execute(), own) : { ...tool({ inputSchema, execute }), ...own };
    const model = rehearsalModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name: 'pay', input: {} }] },
    );
    const agent = defineAgent({
      name: 'payer',
      models: [model],
      tools: { pay: pay as never },
      limits: { toolTimeoutMs: 500 },
    });
    const journal = sqliteJournal(':memory:');
    const options = { journal, sessionId: 's', logger: false as const, context: { user: 'ada' } };
    const session = startSession(agent, { ...options, prompt: 'Go.' });
    await until(() => runs === 1);
    await session.suspend({ graceMs: 0 });
    const result = await (await resumeSession(agent, options)).result;
    assertInvariants(result);
    await journal.close();
    const [call] = result.turns[0]?.attempts[0]?.calls ?? [];
    const output =
      call?.output.type === 'content' ? '' : String(call?.output && 'value' in call.output ? call.output.value : '');
    return { call, output, runs, asks, seen, result };
  }

  it.each([false, true])(
    'was done: what the destination says is the answer, and it does not run again',
    async (isFunction) => {
      const { call, output, runs, asks, seen } = await crashed(() => ({ done: 'paid before' }), isFunction);
      expect([runs, asks, call?.slug, call?.executed, output]).toEqual([1, 1, null, true, 'paid before']);
      expect(seen[0]).toMatchObject({
        idempotencyKey: 's/turn-1/attempt-1/tool-0',
        input: {},
        context: { user: 'ada' },
        signal: expect.any(AbortSignal),
      });
    },
  );

  it('was not done: it runs', async () => {
    const { call, output, runs } = await crashed(() => ({ notDone: true }));
    expect([runs, call?.slug, output]).toEqual([2, null, 'ran again']);
  });

  it('what it says has a size, and the last value of a stream is what was done', async () => {
    const { output } = await crashed(() => ({ unknown: 'long '.repeat(100_000) }));
    expect(output.length).toBeLessThan(1_300);
    const streamed = await crashed(() => ({
      done: (async function* () {
        yield 'first';
        yield 'last';
      })(),
    }));
    expect(streamed.output).toBe('last');
  });

  it.each([
    ['says so', () => ({ unknown: 'The bank is closed.' }), 'The bank is closed.'],
    ['fails', () => Promise.reject(new Error('no route')), 'reconcile() failed: no route'],
    [
      'says nothing',
      () => undefined,
      'reconcile() must return { done }, { notDone: true } or { unknown: reason }; got undefined',
    ],
    ['says two things', () => ({ done: 1, notDone: true }), 'reconcile() must return'],
  ])('nobody knows: the model is told as before, with the reason: %s', async (_, reconcile, reason) => {
    const { call, output, runs } = await crashed(reconcile);
    expect([runs, call?.slug, call?.executed]).toEqual([1, 'interrupted', true]);
    expect(output).toContain('interrupted, outcome unknown');
    expect(output).toContain(reason);
  });

  it('has as much time as the tool: after that, nobody knows', async () => {
    const { call, output, runs } = await crashed(() => new Promise(() => {}));
    expect([runs, call?.slug]).toEqual([1, 'interrupted']);
    expect(output).toContain('interrupted, outcome unknown');
    expect(output).toContain('reconcile() did not answer within 500 ms.');
  });

  it('a tool whose reconcile is no function is refused', () => {
    const pay = { ...tool({ inputSchema, execute: () => 1 }), reconcile: true };
    expect(() => defineAgent({ name: 'payer', models: [rehearsalModel([])], tools: { pay: pay as never } })).toThrow(
      '`tools.pay.reconcile` must be a function that says what became of a call; got true.',
    );
  });
});

describe('D-7b: a decision names the input that was shown', () => {
  const asking = () => {
    const paid: unknown[] = [];
    const pay = tool({
      inputSchema: z.object({ bill: z.string() }),
      needsApproval: true,
      execute: (input) => void paid.push(input),
    });
    const model = rehearsalModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name: 'pay', input: { bill: 'rent' } }] },
    );
    const agent = defineAgent({ name: 'payer', models: [model], tools: { pay } });
    const journal = sqliteJournal(':memory:');
    const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
    return { paid, journal, session };
  };

  it('and decides no call with another one, in its process', async () => {
    const { paid, session, journal } = asking();
    for await (const event of session.events) {
      if (event.type !== 'tool.approvalRequested') continue;
      expect(session.approve(event.callId, { approved: true, input: { bill: 'boat' } })).toBe(false);
      expect(session.approve(event.callId, { approved: true, input: event.input })).toBe(true);
      expect(session.approve(event.callId, { approved: true, input: event.input })).toBe(false);
    }
    expect([(await session.result).success, paid]).toEqual([true, [{ bill: 'rent' }]]);
    await journal.close();
  });

  it('and from another process: the call still waits', async () => {
    const { paid, session, journal } = asking();
    for await (const event of session.events) {
      if (event.type !== 'tool.approvalRequested') continue;
      const { callId } = event;
      while ((await journal.list({ sessionId: 's' }))[0]?.waiting.length !== 1) await new Promise(setImmediate);
      expect(await approveSession(journal, 's', callId, { approved: true, input: { bill: 'boat' } })).toBe(true);
      while ((await journal.inbox('s')).length > 0) await new Promise(setImmediate);
      expect([paid, (await journal.list({ sessionId: 's' }))[0]?.waiting]).toEqual([[], [callId]]);
      expect(await approveSession(journal, 's', callId, { approved: true, input: { bill: 'rent' } })).toBe(true);
    }
    expect([(await session.result).success, paid]).toEqual([true, [{ bill: 'rent' }]]);
    await journal.close();
  });

  it('S-5: with the secrets of the agent or without them, as whoever decides has seen it', async () => {
    const secret = 'hunter2hunter2';
    for (const bill of [secret, '[redacted]']) {
      const paid: unknown[] = [];
      const inputOf = z.object({ bill: z.string() });
      const pay = tool({ inputSchema: inputOf, needsApproval: true, execute: (input) => void paid.push(input) });
      const model = rehearsalModel(({ prompt }) =>
        prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name: 'pay', input: { bill: secret } }] },
      );
      const agent = defineAgent({ name: 'payer', models: [model], tools: { pay }, secrets: [secret] });
      const session = startSession(agent, { prompt: 'Go.', logger: false });
      for await (const event of session.events) {
        if (event.type !== 'tool.approvalRequested') continue;
        expect(event.input).toEqual({ bill: '[redacted]' });
        expect(session.approve(event.callId, { approved: true, input: { bill } })).toBe(true);
      }
      expect([(await session.result).success, paid]).toEqual([true, [{ bill: secret }]]);
    }
  });
});
