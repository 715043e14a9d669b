import { Gate } from './gate.ts';
import type { GateLimits } from './pace.ts';

/** The gates of this process: of each model or provider that is an object, by name; and those that a name alone says. */
const ofObjects = new WeakMap<object, Map<string, Gate>>();
const byName = new Map<string, Gate>();

/** What a gate belongs to: a model or a provider, or null for one that all of the process share under its name. */
export type GateKey = { owner: object | null; name: string };

/** Returns the gate of a target, which keeps the smallest limits that it was given (P-7). */
export function gateOf({ owner, name }: GateKey, limits: GateLimits): Gate {
  let gates = owner === null ? byName : ofObjects.get(owner);
  if (gates === undefined) {
    gates = new Map();
    if (owner !== null) ofObjects.set(owner, gates);
  }
  let gate = gates.get(name);
  if (gate === undefined) {
    gate = new Gate({ ...limits });
    gates.set(name, gate);
  } else {
    gate.narrow(limits);
  }
  return gate;
}
