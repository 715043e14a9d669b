import type { InspectionEvent } from 'xstate';
import type { Effect, Fact, SessionCommand, SessionOutput } from '../../../machines/index.ts';
import { systemClock } from '../../host/clock.ts';
import { ReplayDriver } from '../../host/replay-driver.ts';
import { RunningMachine } from '../../host/run-machine.ts';
import { messageOf } from '../../input/errors.ts';
import type { SessionHead } from '../../journal/journal.ts';
import type { Player } from '../../journal/replay/replay.ts';
import { scopeOf } from '../../journal/scope-log.ts';
import type { Sighting } from '../../observe/events.ts';
import { loggerOf } from '../../observe/log/logger.ts';
import { Observer, type StatedSource } from '../../observe/observer.ts';
import type { Times } from '../wiring/observing.ts';
import { SessionOwner } from '../wiring/owner.ts';
import { sessionActor } from '../wiring/session-machine.ts';

/** Follows a replay, closer than its steps. */
export type Follower = {
  /** What XState tells of the machines of a session of the tree. */
  inspect(scope: string, event: InspectionEvent): void;
  /** A fact, before the folds take it in; `at` is the time of its delivery (epoch ms). */
  fact(scope: string, fact: Fact, at: number): void;
  sighting(scope: string, sighting: Sighting, at: number): void;
};

/** A recorded session, played again without its agent: the machines and the folds alone. */
export class OfflinePlayer implements Player {
  readonly head: SessionHead;
  readonly observer: Observer;
  private readonly driver = new ReplayDriver();
  private readonly machine: RunningMachine<SessionCommand, Fact, SessionOutput>;
  private readonly follower: Follower | null;
  private readonly scope: string;
  private readonly times: Times;

  constructor(
    head: SessionHead,
    above: OfflinePlayer | null,
    source: StatedSource,
    { secrets, follower }: { secrets: readonly string[]; follower: Follower | null },
  ) {
    this.head = head;
    this.follower = follower;
    this.scope = scopeOf(head);
    const { sessionId, agent, metadata, call, messages, resultBytes, input } = head;
    const times = { deliveredAt: input.at, now: () => input.at };
    this.times = times;
    this.observer = new Observer({
      sessionId,
      agent,
      metadata,
      parentSessionId: above?.head.sessionId ?? null,
      secrets,
      messages: [...messages],
      logger: loggerOf(false),
      onEvent: null,
      telemetry: null,
      context: undefined,
      slices: {},
      tools: new Map(),
      resultBytes,
      recorder: {
        fact: (fact) => {
          follower?.fact(this.scope, fact, times.deliveredAt);
        },
        sighted: () => {},
      },
      parent:
        above === null
          ? null
          : {
              forward: (event) => above.observer.forward(event, call?.name ?? ''),
              position: () => above.observer.position,
              moveTo: (position) => above.observer.moveTo(position),
            },
      replay: source,
      times,
    });
    const { observer, driver } = this;
    this.machine = new RunningMachine<SessionCommand, Fact, SessionOutput>({
      actor: sessionActor(input),
      perform: () => Promise.reject(new Error('a replay performs nothing')),
      driver: (...attached) => driver.attach(...attached),
      clock: systemClock,
      random: () => 0,
      signal: undefined,
      abortCommand: (reason) => ({ type: 'session.abort', reason: messageOf(reason) }),
      inspect: follower?.inspect.bind(follower, this.scope),
      owner: new SessionOwner({ observer, secrets, times, onDelivery: undefined, subAgents: null }),
    });
    this.machine.start();
  }

  deliver: Player['deliver'] = (delivery) => this.driver.deliver(delivery);

  mark: Player['mark'] = (key, at) => this.driver.mark(key, at);

  step: Player['step'] = () => {
    const isTaken = this.driver.step();
    return isTaken || this.machine.defect === undefined;
  };

  restate: Player['restate'] = (facts, at) => {
    if (at !== null) this.times.deliveredAt = at;
    for (const fact of facts) this.observer.state(fact);
  };

  resight: Player['resight'] = (sighting, at) => {
    this.follower?.sighting(this.scope, sighting, at);
    this.observer.resight(sighting, at);
  };

  position: Player['position'] = () => this.observer.position;

  moveTo: Player['moveTo'] = (position) => this.observer.moveTo(position);

  /** The effects that have not ended. */
  get pending(): readonly Effect[] {
    return this.driver.pending;
  }

  /** When an effect that has not ended was first marked (epoch ms); null for one that has not begun. */
  begunAt(key: string): number | null {
    return this.driver.begunAt.get(key) ?? null;
  }

  /** The states of the actors that are active, from the session down, such as `turn-2: attempting`. */
  get states(): string[] {
    return this.machine.states;
  }
}
