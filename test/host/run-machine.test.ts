import { describe, expect, it, vi } from 'vitest';
import { createActor, createMachine, emit, fromPromise, type InspectionEvent } from 'xstate';
import type { Driver, DriverOwner } from '../../src/host/driver.ts';
import { heard } from '../../src/host/hearing.ts';
import { type MachineParts, RunningMachine } from '../../src/host/run-machine.ts';
import { manualClock } from '../../src/testing/index.ts';

type Command = { type: 'end' } | { type: 'abort'; reason: unknown } | { type: 'throws' };
type Parts = MachineParts<Command, { type: string }, unknown>;

const ending = createMachine({
  initial: 'going',
  states: {
    going: {
      on: {
        end: 'over',
        abort: 'over',
        throws: {
          actions: () => {
            throw new Error('it broke');
          },
        },
      },
    },
    over: { type: 'final' },
  },
  output: 'the output',
});

/** A machine that runs with a driver which delivers at once. */
function running({
  machine = ending as ReturnType<typeof createMachine>,
  ...over
}: Partial<Parts> & { machine?: unknown } = {}) {
  const told: unknown[] = [];
  const own: { owner: DriverOwner<Command> | null } = { owner: null };
  const clock = manualClock({ start: 5 });
  const one = new RunningMachine<Command, { type: string }, unknown>({
    actor: (settings) => createActor(heard(machine as typeof ending), settings) as never,
    perform: () => Promise.reject(new Error('nothing is performed')),
    driver: (_host, _perform, owner): Driver<Command> => {
      own.owner = owner;
      return {
        start: (startTree) => startTree(),
        command: (event) => owner.command(event),
        answer: (...what) => void told.push(['answer', ...what]),
      };
    },
    clock,
    random: () => 0.25,
    signal: undefined,
    abortCommand: (reason) => ({ type: 'abort', reason }),
    inspect: undefined,
    owner: {
      takeFact: ({ type }) => void told.push(['take', type]),
      delivering: (delivery) => void told.push(['delivering', delivery]),
      tooLate: ({ type }) => void told.push(['tooLate', type]),
      late: (key) => void told.push(['late', key]),
      describeDefect: (error) => `described: ${error}`,
      userCodeFailed: (name, error) => void told.push([name, String(error)]),
    },
    ...over,
  });
  const owner = () => {
    if (own.owner === null) throw new Error('no driver was made');
    return own.owner;
  };
  return { one, told, owner, clock };
}

describe('D-1: a machine that runs', () => {
  it('ends with its output, and a command that comes later is too late', async () => {
    const { one, told } = running();
    one.start();
    expect([one.hasEnded, one.states]).toEqual([false, ['session: going']]);
    one.command({ type: 'end' });
    expect(await one.end).toEqual({ output: 'the output' });
    expect([one.hasEnded, one.defect, one.states]).toEqual([true, undefined, ['session: over']]);
    one.command({ type: 'end' });
    expect(told).toEqual([['tooLate', 'end']]);
  });

  it('ends with a defect if it has no output, or breaks', async () => {
    const silent = createMachine({ initial: 'over', states: { over: { type: 'final' } } });
    const { one } = running({ machine: silent });
    one.start();
    expect(await one.end).toEqual({ defect: new Error('the machine ended without an output') });
    const { one: broken } = running();
    broken.start();
    broken.command({ type: 'throws' });
    expect(await broken.end).toEqual({ defect: new Error('it broke') });
    expect(broken.defect).toEqual(new Error('it broke'));
  });

  it('gives its driver the time, chance, and what the driver has to say to its owner', () => {
    const { one, told, owner } = running();
    one.start();
    expect([owner().now(), owner().chance(), owner().describeDefect('x')]).toEqual([5, 0.25, 'described: x']);
    owner().delivering({ at: 1, event: { type: 'end' } });
    owner().late('a key');
    one.answer('a call', { decision: 'approved', reason: null });
    expect(told).toEqual([
      ['delivering', { at: 1, event: { type: 'end' } }],
      ['late', 'a key'],
      ['answer', 'a call', { decision: 'approved', reason: null }],
    ]);
  });

  it.each([1, -0.1, Number.NaN, 'often'])(
    'takes one half if the chance is not between 0 and 1 (%s), and reports it',
    (chance) => {
      const { told, owner } = running({ random: () => chance as number });
      expect(owner().chance()).toBe(0.5);
      expect(told).toEqual([['random', expect.stringMatching(/`random\(\)` must be a number from 0 to below 1/)]]);
    },
  );

  it('takes one half if the chance is a promise, and reports its rejection too', async () => {
    const { told, owner } = running({ random: () => Promise.reject(new Error('no dice')) as never });
    expect(owner().chance()).toBe(0.5);
    // An unhandled rejection would fail the test.
    await new Promise(setImmediate);
    const reported = expect.stringMatching(/`random\(\)` must be a number from 0 to below 1/);
    expect(told).toEqual([
      ['random', reported],
      ['random', expect.stringContaining('no dice')],
    ]);
  });

  it('takes a chance of 0', () => {
    const { told, owner } = running({ random: () => 0 });
    expect([owner().chance(), told]).toEqual([0, []]);
  });

  it('passes on what it and the actors below emit, also to those who subscribe', () => {
    const child = createMachine({ entry: emit({ type: 'below' }) });
    const machine = createMachine({ entry: emit({ type: 'said' }), invoke: { src: 'child' } }, { actors: { child } });
    const subscribed: string[] = [];
    const { one, told } = running({
      actor: (settings) => {
        const actor = createActor(heard(machine), settings);
        actor.on('*', ({ type }) => void subscribed.push(type));
        return actor as never;
      },
    });
    one.start();
    expect(told).toEqual([
      ['take', 'below'],
      ['take', 'said'],
    ]);
    expect(subscribed).toEqual(['said']);
  });

  it('passes on the requests of effects to its host alone, and their cancellations', () => {
    const effect = { kind: 'close', key: 'k', request: {} };
    const machine = createMachine({
      entry: [
        emit({ type: 'effect.requested', effect, leaf: { send: () => {} } }),
        emit({ type: 'effect.cancelled', key: 'k' }),
      ],
    });
    const drained: unknown[] = [];
    const { one, told } = running({
      machine,
      driver: (host) => ({
        start: (startTree) => {
          startTree();
          drained.push(host.drain());
        },
        command: () => {},
        answer: () => {},
      }),
    });
    one.start();
    expect([told, drained]).toEqual([[], [{ start: [], cancel: [] }]]);
  });

  it('breaks, and ends, if a listener throws in the middle of a step', async () => {
    const machine = createMachine({ entry: emit({ type: 'said' }) });
    const { one } = running({
      machine,
      owner: {
        takeFact: () => {
          throw new Error('not now');
        },
      } as unknown as Parts['owner'],
    });
    one.start();
    expect(await one.end).toEqual({ defect: new Error('not now') });
  });

  it('names its states, those of parallel regions and of actors below included', () => {
    const child = createMachine({
      initial: 'a',
      states: { a: { initial: 'b', states: { b: { initial: 'c', states: { c: {} } } } } },
    });
    const over = createMachine({ initial: 'z', states: { z: { type: 'final' } } });
    const machine = createMachine(
      {
        type: 'parallel',
        states: {
          one: { initial: 'x', states: { x: { invoke: [{ id: 'kid', src: 'child' }] } } },
          two: {
            invoke: [
              { id: 'gone', src: 'over' },
              { id: 'promise', src: 'promise' },
            ],
          },
        },
      },
      { actors: { child, over, promise: fromPromise(() => new Promise(() => {})) } },
    );
    const { one } = running({ machine });
    one.start();
    expect(one.states).toEqual(['session: one.x and two', 'kid: a.b.c']);
  });
});

describe('D-1: time is an effect', () => {
  it('a machine that asks for a timer breaks, with an error that says why', async () => {
    const machine = createMachine({ initial: 'a', states: { a: { after: { 10: 'b' } }, b: {} } });
    const { one } = running({ machine });
    one.start();
    expect(await one.end).toEqual({ defect: new Error('machines have no timers: waiting is an effect') });
  });
});

describe('an inspector', () => {
  it('gets what XState reports', () => {
    const events: string[] = [];
    const { one, told } = running({ inspect: ({ type }: InspectionEvent) => void events.push(type) });
    one.start();
    expect(events).toContain('@xstate.actor');
    expect(told).toEqual([]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no page');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no page'))],
  ])('that %s is reported once, and harms nothing', async (_, inspect) => {
    const { one, told } = running({ inspect: inspect as () => void });
    one.start();
    one.command({ type: 'end' });
    expect(await one.end).toEqual({ output: 'the output' });
    await new Promise(setImmediate);
    expect(told).toEqual([['inspect', 'Error: no page']]);
  });
});

describe("D-2: the caller's signal", () => {
  it('aborts the machine with its reason, once', async () => {
    const controller = new AbortController();
    const { one } = running({ signal: controller.signal });
    const abort = vi.spyOn(one, 'command');
    one.start();
    one.listen();
    controller.abort('enough');
    controller.signal.dispatchEvent(new Event('abort'));
    expect(abort.mock.calls).toEqual([[{ type: 'abort', reason: 'enough' }]]);
    expect(await one.end).toEqual({ output: 'the output' });
  });

  it('that has aborted before aborts it as it begins to listen', async () => {
    const { one } = running({ signal: AbortSignal.abort('before') });
    one.start();
    one.listen();
    expect(await one.end).toEqual({ output: 'the output' });
  });

  it('is left when the machine ends, or is let go', async () => {
    for (const leave of ['end', 'leaveSignal'] as const) {
      const controller = new AbortController();
      const { one, told } = running({ signal: controller.signal });
      one.start();
      one.listen();
      if (leave === 'end') one.command({ type: 'end' });
      else one.leaveSignal();
      await new Promise(setImmediate);
      controller.abort('too late');
      expect(told).toEqual([]);
    }
  });
});
