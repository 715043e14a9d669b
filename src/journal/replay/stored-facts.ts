import type { Delivery, Fact, Json, WorkflowAbort } from '../../../machines/index.ts';
import { isRecord, valueAt } from '../../platform/plain-json.ts';

/**
 * The facts of a step as its entry holds them: what came with the step's delivery is named by its path there, as
 * `{ "$from": ["outcome", "reply"] }`, so that no reply and no result is written twice.
 */
export type StoredFact = { type: string };

type AnyDelivery = Delivery | Delivery<WorkflowAbort>;

/** Shorter texts are written as they are. */
const shortest = 40;

/** Returns facts as they are stored. `delivery`: the one that the step took; null if it took none. */
export function storedFacts(facts: readonly { type: string }[], delivery: AnyDelivery | null): StoredFact[] {
  if (facts.length === 0) return [];
  const places = new Map<unknown, readonly string[]>();
  if (delivery !== null) note(delivery, [], places);
  return facts.map((fact) => ({ ...(stored(fact, places) as object), type: fact.type }));
}

/** Returns the facts that an entry stores, by the delivery that its step took. */
export function restoredFacts<Stated extends { type: string } = Fact>(
  facts: readonly StoredFact[],
  delivery: AnyDelivery | null,
): Stated[] {
  return facts.map((fact) => restored(fact, delivery) as Stated);
}

/** Notes where the objects and the long texts of a delivery are. */
function note(value: unknown, path: readonly string[], places: Map<unknown, readonly string[]>): void {
  if (typeof value === 'string' && value.length >= shortest) places.set(value, path);
  if (typeof value !== 'object' || value === null) return;
  if (path.length > 0 && Object.keys(value).length > 0) places.set(value, path);
  for (const [name, inner] of Object.entries(value)) note(inner, [...path, name], places);
}

function stored(value: unknown, places: ReadonlyMap<unknown, readonly string[]>): Json | undefined {
  const place = places.get(value);
  if (place !== undefined) return { $from: [...place] };
  if (typeof value !== 'object' || value === null) return value as Json;
  if (Array.isArray(value)) return value.map((item) => stored(item, places) ?? null);
  const fields = Object.entries(value).map(([name, item]) => [name, stored(item, places)]);
  // Data that looks like a path is wrapped.
  return '$from' in value ? { $from: null, $value: Object.fromEntries(fields) } : Object.fromEntries(fields);
}

function restored(value: unknown, delivery: AnyDelivery | null): unknown {
  if (Array.isArray(value)) return value.map((item) => restored(item, delivery));
  if (!isRecord(value)) return value;
  const { $from, $value } = value;
  if (Array.isArray($from)) {
    const found = valueAt(delivery, $from);
    if (found === undefined) throw new Error(`what it states is not in its delivery, at ${$from.join('.')}`);
    return found;
  }
  const data = $from === null && isRecord($value) ? $value : value;
  // `fromEntries` defines its fields, so that one named `__proto__` stays a field.
  return Object.fromEntries(Object.entries(data).map(([name, item]) => [name, restored(item, delivery)]));
}
