import { createActor } from 'xstate';
import { type Delivery, type Fact, type HostEvent, type SessionInput, sessionMachine } from '../../machines/index.ts';
import { Host } from '../../src/host/host.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';

/** The facts of each session of a journal, by its scope: from the machines and the host alone, as in a browser. */
export function factsOfJournal(entries: readonly JournalEntry[]): Record<string, Fact[]> {
  const started = entries.flatMap((entry) => (entry.type === 'started' ? [entry] : []));
  const deliveries = entries.flatMap((entry) => (entry.type === 'delivered' ? [entry] : []));
  return Object.fromEntries(
    started.map(({ scope, head }) => {
      const own = deliveries.filter((one) => one.scope === scope).map(({ delivery }) => delivery);
      return [scope, factsAfter(head.input, own)];
    }),
  );
}

function factsAfter(input: SessionInput, deliveries: readonly Delivery[]): Fact[] {
  const host = new Host();
  const facts: Fact[] = [];
  type Emitter = { on(type: '*', listener: (emitted: Fact | HostEvent) => void): void };
  const actor = createActor(sessionMachine, {
    input,
    inspect: ({ type, actorRef }) => {
      if (type !== '@xstate.actor' || !('on' in actorRef)) return;
      (actorRef as Emitter).on('*', (emitted) => {
        if (emitted.type === 'effect.requested' || emitted.type === 'effect.cancelled') host.takeRequest(emitted);
        else facts.push(emitted);
      });
    },
  });
  actor.start();
  host.drain();
  for (const delivery of deliveries) {
    if (!('event' in delivery)) host.deliver(delivery);
    else if (actor.getSnapshot().status === 'active') actor.send(delivery.event);
    host.drain();
  }
  return facts;
}
