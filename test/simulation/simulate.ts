import type { Delivery } from '../../machines/index.ts';
import { systemClock } from '../../src/host/clock.ts';
import {
  type Journal,
  type Logger,
  PawlError,
  resumeSession,
  type Session,
  type SessionEvent,
  type SessionResult,
  startSession,
} from '../../src/index.ts';
import { journalWith } from '../support/dying-journal.ts';
import { Account } from './account.ts';
import { agentOf, type Plan } from './agent.ts';
import type { Choices } from './choices.ts';
import type { Disk } from './disk.ts';
import { secret } from './model.ts';
import { heard, intervene } from './others.ts';
import type { Processes } from './processes.ts';
import { brokenAtEnd } from './promises.ts';
import type { Wire } from './wire.ts';
import { type Life, World } from './world.ts';

/** The most steps of a session; one with more counts as endless. */
const mostSteps = 3_000;

export type Simulated = {
  /** The promises that were broken, as sentences; empty if all were kept. */
  broken: string[];
  decisions: readonly number[];
  /** The requests that were sent after nothing went wrong any more; null if that never came. */
  sentWhenCalm: number | null;
  transcript: readonly string[];
  steps: number;
  passedMs: number;
  troubles: ReadonlyMap<string, number>;
  status: SessionResult['status'] | null;
  slugs: readonly string[];
  plan: Plan;
  /** The events as someone who reads them at the end gets them. */
  events: readonly SessionEvent[];
};

/** What of a session's surroundings is real. */
export type Surroundings = { wire?: Wire; disk?: Disk; processes?: Processes };

/**
 * Runs one session as `choices` decide, with models in memory or over `wire`, a journal in memory or on `disk`, and servers
 * in memory, over `wire` or in `processes`. Everything else is simulated, so the same choices give the same session.
 */
export async function simulate(choices: Choices, { disk, ...surroundings }: Surroundings = {}): Promise<Simulated> {
  const world = new World(choices, surroundings);
  const account = new Account(world, disk ?? null);
  choices.onCalm = () => account.becomesCalm();
  const { now } = performance;
  const { alarm } = systemClock;
  // Elapsed real time must not matter, nor what a journal does each quarter of a second.
  performance.now = () => 0;
  systemClock.alarm = () => () => {};
  try {
    await live(account);
    account.broken.push(...(await brokenAtEnd(account)));
    const { sentWhenCalm, told } = account;
    const sessions = 1 + told.filter(({ type }) => type === 'subAgent.started').length;
    // A reply that is on its way may still be bad; a summary is a request, too.
    if (sentWhenCalm !== null && sentWhenCalm > 2 * sessions + 1)
      account.breaks(
        `once nothing goes wrong, a session ends within two requests for each of its tree (${sentWhenCalm})`,
      );
  } catch (error) {
    account.breaks(`nothing throws: ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    performance.now = now;
    systemClock.alarm = alarm;
    surroundings.wire?.clear();
    await surroundings.processes?.clear();
  }
  const { broken, result } = account;
  const { transcript, steps, passedMs, troubles } = world;
  return {
    broken,
    decisions: choices.made,
    sentWhenCalm: account.sentWhenCalm,
    transcript,
    steps,
    passedMs,
    troubles,
    status: result?.status ?? null,
    slugs: result?.slugs ?? [],
    plan: account.plan,
    events: account.told,
  };
}

async function live(account: Account): Promise<void> {
  const { world } = account;
  begin(account);
  for (;;) {
    await world.settled();
    checkAborted(account);
    if (account.result !== null) return;
    intervene(account, () => begin(account));
    await world.settled();
    if (account.result !== null) return;
    if (world.steps > mostSteps || !world.step()) {
      account.breaks('a session ends, if its effects settle');
      return;
    }
  }
}

/** Begins a life: starts the session, or resumes it. */
function begin(account: Account): void {
  const { world, plan, disk } = account;
  const journal = disk?.connect() ?? account.journal;
  const { life } = world;
  account.isAborted = false;
  account.session = null;
  account.controller = new AbortController();
  const agent = agentOf(plan, world, {
    sent: account.sent,
    begun: account.begun,
    onPart: (name) => {
      if (name === 'simulated' && !life.isOver) account.lastPartMs = world.passedMs;
    },
    onBegin: (name) => {
      const isHeard = journal === null || name === 'simulated';
      if (account.isAborted && !life.isOver && isHeard) account.breaks('no effect begins after an abort');
    },
  });
  const options = {
    logger: loggerOf(account, life),
    clock: life.clock,
    signal: account.controller.signal,
    random: () => world.choices.below(1_000) / 1_000,
    onEvent: (event: SessionEvent) => {
      if (!life.isOver) return heard(account, event);
      if (!life.isDead) account.outdatedEvents.push(event);
      return undefined;
    },
    onDelivery: (delivery: Delivery) => {
      if (life.isOver) return;
      account.deliveries.push(JSON.parse(JSON.stringify(delivery)));
      if ('event' in delivery && delivery.event.type === 'session.abort') account.isAborted = true;
    },
  };
  const followed = { life, hasResult: false, signal: account.controller.signal };
  account.followed.push(followed);
  const hasResult = () => {
    followed.hasResult = true;
  };
  const follow = (session: Session) => {
    void session.result.then(hasResult);
    if (life.isOver) return;
    account.session = session;
    void read(account, session, life);
    void session.result.then((result) => {
      if (life.isOver) return;
      if (result.status !== 'suspended') {
        account.result = result;
        return;
      }
      again();
    });
  };
  const again = () => {
    world.tell('A USER resumes it');
    world.die();
    account.deaths += 1;
    begin(account);
  };
  const own = journal === null ? null : journalOf(account, journal, life);
  if (own !== null && account.deaths > 0) {
    void resumeSession(agent, { ...options, sessionId: 's', journal: own }).then(follow, (error) => {
      hasResult();
      const code = error instanceof PawlError ? error.code : null;
      if (life.isOver && code === 'session_taken') return;
      // Its server did not start, or a write failed. The session waits for another try.
      if (code !== 'tools_unavailable' && !life.hasLostWrite)
        account.breaks(`a session is resumed: ${withoutFolders(error)}`);
      else if (!life.isOver) again();
    });
    return;
  }
  const kept = own === null ? {} : { journal: own };
  follow(startSession(agent, { ...options, sessionId: 's', ...kept, prompt: 'Do it.', budget: plan.budget }));
}

/** Reads the events as they come. */
async function read(account: Account, { events }: Session, life: Life): Promise<void> {
  for await (const event of events) if (!life.isOver) account.read.push(event);
}

/** A journal with slow writes, some of which fail, and which a dead process cannot reach. */
function journalOf(account: Account, journal: Journal, life: Life): Journal {
  const never = new Promise<never>(() => {});
  const acknowledge = () => (life.isDead ? undefined : account.disk?.acknowledge());
  const write = async (owner: string, act: () => Promise<void>) => {
    if (life.isDead) return never;
    if (!life.isOver) account.owner = owner;
    const { world } = account;
    const fate = world.choices.weighed({
      'a write becomes durable': 150,
      'a write was durable, and is acknowledged': 150,
      'a write is refused': 1,
      'a write was durable, and its answer is lost': 1,
    });
    const isEarly = fate.includes('was durable');
    if (isEarly) await act();
    await life.turn(fate);
    if (fate === 'a write becomes durable') await act();
    if (fate !== 'a write is refused' && !fate.endsWith('lost')) return acknowledge();
    world.trouble(fate);
    life.hasLostWrite = true;
    throw new Error(`the disk is full ${secret}`);
  };
  const alive = <Value>(act: () => Promise<Value>): Promise<Value> => (life.isDead ? never : act());
  const owns = async <Value>(act: () => Promise<Value>): Promise<Value> => {
    const value = await alive(act);
    acknowledge();
    return value;
  };
  return journalWith(journal, {
    create: (session, append) => write(append.owner, () => journal.create(session, append)),
    append: (sessionId, append) => write(append.owner, () => journal.append(sessionId, append)),
    lease: (sessionId, owner) => {
      if (!life.isOver) account.owner = owner;
      return owns(() => journal.lease(sessionId, owner));
    },
    renew: (sessionId, owner) => owns(() => journal.renew(sessionId, owner)),
    release: (sessionId, owner) => owns(() => journal.release(sessionId, owner)),
    inbox: (sessionId) => alive(() => journal.inbox(sessionId)),
  });
}

/** An error without the folder of a disk, which has another name each time. */
function withoutFolders(error: unknown): string {
  return String(error).replaceAll(/\/\S+\//g, '');
}

function loggerOf(account: Account, life: Life): Logger {
  const write = (level: keyof Logger) => (fields: object, message?: string) => {
    if (!life.isOver) account.lines.push({ ...fields, message, level });
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/**
 * Once an abort was delivered, the signal of every tool that runs has aborted; those of sub-agents once it is in their
 * journal too.
 */
function checkAborted(account: Account): void {
  const { isAborted, begun, world, journal } = account;
  if (!isAborted) return;
  const heard = begun.filter(({ life, agent }) => life === world.life && (journal === null || agent === 'simulated'));
  const deaf = heard.filter(({ hasEnded, signal }) => !hasEnded && signal?.aborted !== true);
  if (deaf.length > 0) account.breaks(`an abort reaches every tool that runs (${deaf.map(({ name }) => name)})`);
}
