import { createActor } from 'xstate';
import { type Delivery, type Fact, type HostEvent, type SessionInput, sessionMachine } from '../../machines/index.ts';
import { Host } from '../../src/host/host.ts';
import { noClock } from '../../src/host/run-machine.ts';
import type { SessionEvent } from '../../src/index.ts';

/** Replays deliveries through the machines alone, without a model, tools or a clock. */
export function replay(input: SessionInput, deliveries: readonly Delivery[]) {
  const host = new Host();
  const facts: Fact[] = [];
  const started: string[] = [];
  const actor = createActor(sessionMachine, {
    input,
    clock: noClock,
    inspect: (event) => {
      if (event.type !== '@xstate.actor' || !('on' in event.actorRef)) return;
      const actorRef = event.actorRef as { on(type: '*', listener: (emitted: Fact | HostEvent) => void): void };
      actorRef.on('*', (emitted) => {
        if (emitted.type === 'effect.requested' || emitted.type === 'effect.cancelled') host.takeRequest(emitted);
        else facts.push(emitted);
      });
    },
  });
  actor.start();
  const drain = () => started.push(...host.drain().start.map((effect) => effect.key));
  drain();
  for (const delivery of deliveries) {
    if ('event' in delivery) {
      // A command may come after the end.
      if (actor.getSnapshot().status === 'active') actor.send(delivery.event);
    } else {
      host.deliver(delivery);
    }
    drain();
  }
  return { actor, facts, started, status: actor.getSnapshot().status };
}

const beside =
  /^(model\.delta|model\.warned|tool\.(progressed|handedOut)|conversation\.repaired|subAgent\.|server\.|prefix\.|summary\.|effect\.|observer\.|events\.)/;

/** The facts among a session's own events, without the additions for listeners. */
export function factsOf(events: readonly SessionEvent[]): Fact[] {
  return events
    .filter((event) => event.path.length === 0 && !beside.test(event.type))
    .map(({ sessionId: _, agent: __, at: ___, path: ____, seq: _____, ...event }) => {
      const { input: ______, partsTakenBack: _______, ...fact } = { input: null, partsTakenBack: null, ...event };
      return JSON.parse(JSON.stringify(fact));
    });
}
