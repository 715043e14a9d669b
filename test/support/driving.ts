import type { Delivery, Effect } from '../../machines/index.ts';
import type { Outcome } from '../../src/host/driver-core.ts';
import { Host } from '../../src/host/host.ts';
import { type DriverLog, type EffectPolicy, JournaledDriver } from '../../src/host/journaled.ts';
import { ResumedDriver } from '../../src/host/resumed.ts';

export const outcome = { done: true } as unknown as Outcome;
export const effect = (key: string, kind = 'tool'): Effect => ({ kind, key, request: {} }) as unknown as Effect;
export const settled = (key: string): Delivery => ({ key, at: 7, chance: 0.5, outcome: outcome as never });

/** Lets everything run that waits for nothing. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
}

type Driven = { interrupted?: string[]; awaited?: boolean };

/** A journaled driver whose log says what it does, in order; writes can be held back. */
export const driving = (options?: Driven) => driven((log, policy) => new JournaledDriver(log, policy), options);

/** The driver of a session that is resumed, likewise. */
export const resuming = (options?: Driven) => driven((log, policy) => new ResumedDriver(log, policy), options);

function driven<One extends JournaledDriver | ResumedDriver>(
  make: (log: DriverLog, policy: EffectPolicy) => One,
  { interrupted = [], awaited = true }: Driven = {},
) {
  const told: string[] = [];
  const held: (() => void)[] = [];
  let holds = false;
  let fails: Error | null = null;
  const written = async (what: string) => {
    if (fails !== null) throw fails;
    if (holds) await new Promise<void>((resolve) => held.push(resolve));
    told.push(what);
  };
  const log: DriverLog = {
    start: () => written('start'),
    begun: (keys, at) => written(`begun ${keys.join(' ')} ${at}`),
    delivered: (deliveries) =>
      written(`delivered ${deliveries.map((one) => ('key' in one ? one.key : one.event)).join(' ')}`),
    applying: ({ take }) => {
      told.push('step');
      take();
    },
    failed: (error) => void told.push(`failed ${(error as Error).message}`),
  };
  const policy = {
    interrupted: ({ key }: Effect) => (interrupted.includes(key) ? outcome : null),
    isAwaited: () => awaited,
  };
  const ends = new Map<string, () => void>();
  const signals = new Map<string, AbortSignal>();
  const host = new Host();
  let requests: Record<string, Effect[]> = {};
  const request = (one: Effect) => host.request(one, { send: () => {} });
  const driver = make(log, policy);
  driver.attach(
    host,
    (one, { signal, since }) => {
      told.push(`begins ${one.key} ${since}`);
      signals.set(one.key, signal);
      return new Promise((resolve) => ends.set(one.key, () => resolve(outcome)));
    },
    {
      now: () => 7,
      chance: () => 0.5,
      command: (event) => {
        told.push(`command ${event}`);
        for (const one of requests[String(event)] ?? []) request(one);
        if (String(event) === 'cancel b') host.cancel('b');
      },
      delivering: () => {},
      describeDefect: String,
      late: (key) => void told.push(`late ${key}`),
    },
  );
  const end = async (key: string) => {
    ends.get(key)?.();
    await quiet();
  };
  return {
    ...{ driver, told, host, request, end, signals },
    onCommand: (given: typeof requests) => (requests = given),
    hold: () => (holds = true),
    isHeld: () => held.length > 0,
    release: async (whole = true) => {
      holds = !whole;
      for (const resume of held.splice(0)) resume();
      await quiet();
    },
    fail: (error: Error) => (fails = error),
    since: () => told.splice(0),
  };
}

export const command = (name: string) => name as never;
