import { describe, expect, it } from 'vitest';
import { defineAgent, resumeSession, sqliteJournal, startSession } from '../../src/index.ts';
import { GuardedTelemetry, type Telemetry } from '../../src/observe/telemetry.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, report, run, tokensOf } from '../support/session.ts';

const fail = (..._: unknown[]): never => {
  throw new Error('no exporter');
};
const rejects = () => Promise.reject(new Error('no exporter'));

/** A telemetry whose spans fail from the `number`th on. */
function failingFrom(number: number, around: (work: () => Promise<never>) => Promise<never>): Telemetry {
  let spans = 0;
  return {
    session: () => ({
      event: () => {},
      around: (_key, work) => {
        spans += 1;
        return (spans < number ? work() : around(work as () => Promise<never>)) as ReturnType<typeof work>;
      },
    }),
  };
}

describe('F-5: a telemetry that fails costs its spans, and no session', () => {
  it.each<[string, Telemetry]>([
    ['it cannot begin', { session: fail }],
    ['its first span throws', failingFrom(1, fail)],
    ['a later span throws', failingFrom(2, fail)],
    ['a span throws after its work began', failingFrom(2, (work) => fail(work().catch(() => undefined)))],
    ['a span rejects', failingFrom(2, rejects)],
    ['a span rejects after its work', failingFrom(2, (work) => work().then(fail))],
    ['its listener throws', { session: () => ({ event: fail, around: (_key, work) => work() }) }],
    ['its listener rejects', { session: () => ({ event: async () => fail(), around: (_key, work) => work() }) }],
  ])('%s', async (_what, telemetry) => {
    const agent = defineAgent({ name: 'watched', models: [rehearsalModel([report()])] });
    const { result, events } = await run({ agent, options: { telemetry } });
    expect(result.success).toBe(true);
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 1, tokens: tokensOf(1), costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 1, acknowledged: 1, answered: 1 },
      }),
    );
    expect(events.filter(({ type }) => type === 'observer.failed')).toMatchObject([
      { observer: 'telemetry', message: 'no exporter' },
    ]);
  });
});

it.each([
  ['nothing', () => undefined, '`session()` must return an object with `event` and `around`; got undefined.'],
  [
    'a promise that rejects',
    () => Promise.reject(new Error('no exporter')),
    'must return an object with `event` and `around`; got',
  ],
  ['null', () => null, '`session()` must return an object with `event` and `around`; got null.'],
  ['no function for events', () => ({ event: 7, around: fail }), '`session()` must return an object with `event`'],
  ['no function for spans', () => ({ event: fail, around: 7 }), '`session()` must return an object with `event`'],
  ['half of it', () => ({ event: () => {} }), '`session()` must return an object with `event` and `around`; got'],
])('F-5: a telemetry that begins with %s is told so, and costs no session', async (_, session, message) => {
  const agent = defineAgent({ name: 'watched', models: [rehearsalModel([report()])] });
  const { result, events } = await run({ agent, options: { telemetry: { session } as never } });
  expect(result.success).toBe(true);
  expect(events.filter(({ type }) => type === 'observer.failed')).toMatchObject([
    { observer: 'telemetry', message: expect.stringContaining(message) },
  ]);
});

it('F-5: a telemetry is not blamed for an effect that fails', async () => {
  const seen: string[] = [];
  const around: ReturnType<Telemetry['session']>['around'] = async (_key, work) => await work();
  const watched = new GuardedTelemetry(
    { session: () => ({ event: ({ type }) => void seen.push(type), around }) },
    {
      sessionId: 's',
      agent: 'a',
      metadata: {},
      parent: null,
      messages: () => [],
      instructions: () => null,
      input: () => ({}),
    },
  );
  const perform = watched.performing(() => Promise.reject(new Error('the effect failed')));
  await expect(perform({ key: 'a' } as never, {} as never)).rejects.toThrow('the effect failed');
  await new Promise(setImmediate);
  watched.event({ type: 'turn.progressed' } as never);
  expect(seen).toEqual(['turn.progressed']);
});

describe('B-1: a limit that is undefined is not set', () => {
  it('the agent’s own holds, also when the session is resumed', async () => {
    const journal = sqliteJournal(':memory:');
    const limits = { maxTurns: 20, toolTimeoutMs: 5_000 };
    const agent = defineAgent({ name: 'a', models: [rehearsalModel([{ hangs: true }])], limits });
    const unset = { maxTurns: undefined, maxRetries: 2 } as unknown as { maxRetries: number };
    const session = startSession(agent, { prompt: 'Go.', logger: false, journal, sessionId: 's', limits: unset });
    const { value: first } = await session.events[Symbol.asyncIterator]().next();
    expect(first).toMatchObject({ type: 'session.started', maxTurns: 20, maxRetries: 2 });
    await session.suspend({ graceMs: 0 });
    const resumed = await resumeSession(agent, { journal, sessionId: 's', logger: false });
    resumed.abort();
    expect((await resumed.result).status).toBe('aborted');
    await journal.close();
  });
});

it('F-5: a telemetry that failed is asked no more, and reported once', async () => {
  const failed = new GuardedTelemetry({ session: fail }, {} as never);
  expect(() => failed.event({} as never)).toThrow('no exporter');
  expect(await failed.performing(async () => ({}))({ key: 'k' } as never, {} as never)).toEqual({});
  expect(failed.event({} as never)).toBeUndefined();
});
