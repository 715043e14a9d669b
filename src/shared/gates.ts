import { Gate } from './gate.ts';
import type { GateStore } from './gate-store.ts';
import type { GateLimits } from './pace.ts';

/** The gates of this process: of each model, provider or store that is an object, by name; and those that a name alone says. */
const ofObjects = new WeakMap<object, Map<string, Gate>>();
const byName = new Map<string, Gate>();

/**
 * What a gate belongs to: a model or a provider, or null for one that all of the process share under its name. In a store,
 * other processes share it too.
 */
export type GateKey = { owner: object | null; name: string; store: GateStore | null };

/** Returns the gate of a target, which keeps the smallest limits that it was given (P-7). */
export function gateOf({ owner: maker, name, store }: GateKey, limits: GateLimits): Gate {
  const owner = store ?? maker;
  let gates = owner === null ? byName : ofObjects.get(owner);
  if (gates === undefined) {
    gates = new Map();
    if (owner !== null) ofObjects.set(owner, gates);
  }
  let gate = gates.get(name);
  if (gate === undefined) {
    gate = new Gate({ ...limits }, store === null ? null : { name, store });
    gates.set(name, gate);
  } else {
    gate.narrow(limits);
  }
  return gate;
}
