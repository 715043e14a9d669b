import { APICallError, type LanguageModelV4 } from '@ai-sdk/provider';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type AgentDefinition,
  defineAgent,
  replaySession,
  resumeSession,
  type Session,
  type SessionOptions,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { assertInvariants, manualClock, rehearsalModel, startModelServer } from '../../src/testing/index.ts';
import { endsOf, heldModel } from '../support/held-model.ts';
import { until } from '../support/journaled.ts';
import { wireModel } from '../support/session.ts';

const quiet = { logger: false } as const;

/** A server that takes so many requests in each period, and refuses the others with the time that is left. */
function limitedServer(perPeriod: number, periodMs: number) {
  const seen = { taken: 0, refused: 0 };
  let windowEnd = 0;
  let inWindow = 0;
  const server = startModelServer(({ body }) => {
    const now = performance.now();
    if (now >= windowEnd) {
      windowEnd = now + periodMs;
      inWindow = 0;
    }
    if (inWindow >= perPeriod) {
      seen.refused += 1;
      return { status: 429, headers: { 'retry-after-ms': String(Math.ceil(windowEnd - now)) } };
    }
    inWindow += 1;
    seen.taken += 1;
    const isSecond = body.messages.some(({ role }) => role === 'tool');
    return isSecond
      ? { calls: [{ name: 'final_report', input: { content: 'done' } }] }
      : { calls: [{ name: 'look', input: {} }] };
  });
  return { server, seen };
}

const nothing = z.object({});
const look = tool({ description: 'Looks.', inputSchema: nothing, execute: () => 'seen' });

function agentAt(url: string, entry: object = {}, definition: Partial<AgentDefinition> = {}) {
  const model = wireModel('openai', url);
  return defineAgent({
    name: 'gated',
    models: [Object.keys(entry).length === 0 ? model : { model, ...entry }],
    tools: { look },
    ...definition,
  });
}

const many = (agent: ReturnType<typeof agentAt>, count: number, options: Partial<SessionOptions> = {}): Session[] =>
  Array.from({ length: count }, () => startSession(agent, { prompt: 'Do it.', ...quiet, ...options }));

describe('P-7: sessions that share a target', () => {
  it('P-7a P-7b P-7d: forty at a server that takes five in a period: at most twenty are refused, and none fails', async () => {
    // A period so long that a busy machine delays no answer into the next one.
    const { server, seen } = limitedServer(5, 240);
    await using running = await server;
    const ended = await endsOf(many(agentAt(running.url), 40));
    expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 'succeeded'));
    expect(seen.taken).toBe(80);
    expect(seen.refused).toBeLessThanOrEqual(20);
    const refused = ended.map(({ counters }) => counters.slugs.rate_limited ?? 0);
    expect(refused.reduce((sum, count) => sum + count, 0)).toBe(seen.refused);
    expect(ended.some(({ counters }) => counters.admissions > 0)).toBe(true);
  }, 60_000);
});

const start = (model: LanguageModelV4, prompt: string, entry: object, options: Partial<SessionOptions> = {}) =>
  startSession(defineAgent({ name: 'gated', models: [{ model, ...entry }] }), { prompt, ...quiet, ...options });

describe('P-7b P-7c: the limits that a gate is given', () => {
  it('no more than `concurrency` requests are in flight, and one that waits has no attempt', async () => {
    const { model, seen, letGo } = heldModel();
    const sessions = ['a', 'b', 'c', 'd', 'e'].map((name) =>
      start(model, `task ${name}`, { limits: { concurrency: 2 } }),
    );
    await until(() => seen.open === 2 && sessions.every(({ counters }) => counters.admissions === 1));
    expect(sessions.map(({ counters }) => counters.attempts)).toEqual([1, 1, 0, 0, 0]);
    for (const _ of sessions) await letGo();
    const ended = await endsOf(sessions);
    expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 'succeeded'));
    expect([seen.most, seen.order]).toEqual([2, ['task a', 'task b', 'task c', 'task d', 'task e']]);
  });

  it('P-7c: by priority, then in the order of arrival', async () => {
    const { model, seen, letGo } = heldModel();
    const entry = { limits: { concurrency: 1 } };
    const first = start(model, 'task first', entry);
    await until(() => seen.open === 1);
    const others = [
      ['low', -1],
      ['usual', 0],
      ['high', 5],
      ['later', 0],
    ].map(([name, priority]) => start(model, `task ${name}`, entry, { priority: Number(priority) }));
    await until(() => others.every(({ counters }) => counters.admissions === 1));
    for (let index = 0; index < 5; index += 1) await letGo();
    await endsOf([first, ...others]);
    expect(seen.order).toEqual(['task first', 'task high', 'task usual', 'task later', 'task low']);
  });

  it('models with the same name of a gate share it', async () => {
    const [one, two] = [heldModel(), heldModel()];
    const entry = { gate: 'an-account', limits: { concurrency: 1 } };
    const sessions = [start(one.model, 'task one', entry), start(two.model, 'task two', entry)];
    await until(() => one.seen.open === 1);
    expect(two.seen.open).toBe(0);
    await one.letGo();
    await two.letGo();
    await endsOf(sessions);
  });

  it('so many requests and tokens in any minute', async () => {
    for (const limits of [{ requestsPerMinute: 2 }, { tokensPerMinute: 3_200 }]) {
      const clock = manualClock();
      const sent: number[] = [];
      const usage = { input: 1_500, output: 100 };
      const model = rehearsalModel(() => {
        sent.push(clock.now());
        return { usage, calls: [{ name: 'final_report', input: { content: 'done' } }] };
      });
      const began = clock.now();
      for (let count = 0; count < 5; count += 1) {
        const result = await start(model, 'task', { limits }, { clock }).result;
        expect(result.counters).toMatchObject({ attempts: 1, admissions: 1, waits: 0 });
      }
      expect(sent.map((at) => Math.round((at - began) / 1_000))).toEqual([0, 0, 60, 60, 120]);
    }
  });
});

describe('P-7: a session that waits at a gate', () => {
  const entry = { limits: { concurrency: 1 } };

  it('is aborted, and leaves its place to the next', async () => {
    const { model, seen, letGo } = heldModel();
    const first = start(model, 'task first', entry);
    await until(() => seen.open === 1);
    const [gone, next] = [start(model, 'task gone', entry), start(model, 'task next', entry)];
    await until(() => next.counters.admissions === 1);
    gone.abort();
    const result = await gone.result;
    expect(result).toMatchObject({ status: 'aborted', counters: { attempts: 0, requests: 0, admissions: 1 } });
    for (let index = 0; index < 2; index += 1) await letGo();
    await endsOf([first, next]);
    expect(seen.order).toEqual(['task first', 'task next']);
  });

  it('P-7f: fails at its deadline, and has sent nothing', async () => {
    const { model, seen, letGo } = heldModel();
    const first = start(model, 'task first', entry);
    await until(() => seen.open === 1);
    const clock = manualClock();
    const late = start(model, 'task late', entry, { clock, budget: { wallClockMs: 5_000 } });
    await until(() => late.counters.admissions === 1);
    clock.advance(5_000);
    const result = await late.result;
    expect(result).toMatchObject({ status: 'failed', slugs: ['budget_exhausted'], counters: { attempts: 0 } });
    await letGo();
    await endsOf([first]);
  });

  it('takes in what a stop, steering and a suspension say, and goes on in its place', async () => {
    const { model, seen, letGo } = heldModel();
    const first = start(model, 'task first', entry);
    await until(() => seen.open === 1);
    const journal = sqliteJournal(':memory:');
    const agent = defineAgent({ name: 'gated', models: [{ model, ...entry }] });
    const session = startSession(agent, { prompt: 'task kept', journal, ...quiet });
    await until(() => session.counters.admissions === 1);
    expect(session.steer('task steered')).toBe(true);
    // Not for the gate, which may let nothing through for long.
    await session.suspend({ graceMs: Number.POSITIVE_INFINITY });
    expect((await session.result).status).toBe('suspended');
    const resumed = await resumeSession(agent, { journal, sessionId: session.sessionId, ...quiet });
    await until(() => resumed.counters.admissions === 1);
    for (let index = 0; index < 2; index += 1) await letGo();
    const result = await resumed.result;
    assertInvariants(result);
    expect(result).toMatchObject({ status: 'succeeded', counters: { attempts: 1, admissions: 1 } });
    expect(seen.order).toEqual(['task first', 'task steered']);
    await endsOf([first]);
    expect((await replaySession(journal, session.sessionId)).difference).toBeNull();
    await journal.close();
  });
});

describe('P-7a P-7e: a refusal', () => {
  it('is heard by all who share the target, also between two of their requests', async () => {
    const clock = manualClock();
    const sent: [string, number][] = [];
    let refuses = false;
    const tooMany = () =>
      new APICallError({
        ...{ message: 'slow down', url: 'http://127.0.0.1', requestBodyValues: {}, statusCode: 429 },
        responseHeaders: { 'retry-after': '30' },
      });
    const model = rehearsalModel(({ prompt }) => {
      const text = JSON.stringify(prompt);
      sent.push([/task (\w+)/.exec(text)?.[1] ?? '', clock.now()]);
      if (refuses) {
        refuses = false;
        return { throws: tooMany() };
      }
      const isDone = !text.includes('task slow') || text.includes('tool-result');
      return { calls: [isDone ? { name: 'final_report', input: { content: 'done' } } : { name: 'wait', input: {} }] };
    });
    const { promise, resolve } = Promise.withResolvers<string>();
    const wait = tool({ description: 'Waits.', inputSchema: nothing, execute: () => promise });
    const agent = defineAgent({ name: 'gated', models: [model], tools: { wait } });
    const began = clock.now();
    const slow = startSession(agent, { prompt: 'task slow', ...quiet, clock });
    await until(() => sent.length === 1);
    refuses = true;
    const hit = startSession(agent, { prompt: 'task hit', ...quiet, clock });
    await until(() => hit.counters.waits === 1 || hit.counters.attempts > 1);
    resolve('waited');
    const ended = await endsOf([slow, hit]);
    const times = sent.map(([name, at]) => [name, at - began]);
    expect(times.slice(0, 2)).toEqual([
      ['slow', 0],
      ['hit', 0],
    ]);
    expect(times.slice(2).every(([, at]) => Number(at) >= 30_000)).toBe(true);
    expect(ended.map(({ counters }) => [counters.attempts, counters.failedAttempts])).toEqual([
      [2, 0],
      [2, 1],
    ]);
  });
});
