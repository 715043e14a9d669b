import type { Json, JsonObject } from '../../machines/index.ts';
import { decodedUri } from './text.ts';

/** The type of a value once it is JSON: dates, bigints and bytes are texts, sets and maps are lists. */
export type JsonOf<T> = unknown extends T
  ? T
  : [T] extends [Json | undefined]
    ? T
    : T extends bigint | symbol | ArrayBuffer | ArrayBufferView
      ? string
      : T extends { toJSON(): infer Shown }
        ? JsonOf<Shown>
        : T extends ReadonlyMap<infer Key, infer Value>
          ? [JsonOf<Key>, JsonOf<Value>][]
          : T extends ReadonlySet<infer Element>
            ? JsonOf<Element>[]
            : T extends object
              ? { [Field in keyof T]: JsonOf<T[Field]> }
              : T;

/**
 * Converts a value to JSON, at most `mostNodes` values of it. Types that JSON lacks get a substitute, so that nothing is
 * lost silently.
 */
export function plainJson(value: unknown, mostNodes = Number.POSITIVE_INFINITY): Json {
  return plain(value, [], { left: mostNodes });
}

/** Values nested more deeply are left out, and refused from outside: what reads them later would overflow its stack. */
const deepest = 500;

/** Says what is wrong with a value from outside that is nested too deeply; null for any other. */
export function depthProblem(value: unknown): string | null {
  const isNested = (one: unknown): one is object => typeof one === 'object' && one !== null;
  let level: object[] = [value].filter(isNested);
  for (let depth = 0; depth < deepest; depth += 1) {
    if (level.length === 0) return null;
    level = level.flatMap((one) => Object.values(one).filter(isNested));
  }
  if (level.length === 0) return null;
  return `it is nested more than ${deepest} levels deep`;
}

/** The field that says how many others were left out. */
const leftOutKey = '…';

type Room = { left: number };

function plain(value: unknown, ancestors: readonly object[], room: Room): Json {
  room.left -= 1;
  if (room.left < 0) return '[left out: the result is too large]';
  switch (typeof value) {
    case 'string':
      return value.toWellFormed();
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'bigint':
      return value.toString();
    case 'undefined':
      return null;
    case 'function':
    case 'symbol':
      return `[${typeof value}]`;
    case 'object':
      return value === null ? null : plainObject(value, ancestors, room);
  }
}

function plainObject(value: object, ancestors: readonly object[], room: Room): Json {
  if (ancestors.includes(value)) return '[circular]';
  if (ancestors.length >= deepest) return '[left out: it is nested too deeply]';
  const inner = [...ancestors, value];
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    if (value instanceof Uint8Array) return binary(value);
    return plain(value.toJSON(), inner, room);
  }
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (ArrayBuffer.isView(value)) return binary(value);
  if (value instanceof ArrayBuffer) return `[binary, ${value.byteLength} bytes]`;
  if (Array.isArray(value)) return plainList(value, value.length, inner, room);
  if (value instanceof Map) return plainList(value.entries(), value.size, inner, room);
  if (value instanceof Set) return plainList(value, value.size, inner, room);
  const keys = Object.keys(value);
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return keys.length === 0 && kind !== 'Object' ? `[${kind}]` : plainFields(value, keys, inner, room);
}

function plainFields(value: object, keys: readonly string[], ancestors: readonly object[], room: Room): JsonObject {
  const fields: [string, Json][] = [];
  for (const [index, key] of keys.entries()) {
    if (room.left <= 0) {
      fields.push([leftOutKey, `[${keys.length - index} more left out]`]);
      break;
    }
    const item: unknown = Reflect.get(value, key);
    if (item !== undefined) fields.push([key.toWellFormed(), plain(item, ancestors, room)]);
  }
  // `fromEntries` defines its fields, so that one named `__proto__` stays a field.
  return Object.fromEntries(fields);
}

function plainList(items: Iterable<unknown>, size: number, ancestors: readonly object[], room: Room): Json[] {
  const kept: Json[] = [];
  for (const item of items) {
    if (room.left <= 0) break;
    kept.push(plain(item, ancestors, room));
  }
  if (kept.length < size) kept.push(`[${size - kept.length} more left out]`);
  return kept;
}

function binary(view: ArrayBufferView): string {
  return `[binary, ${view.byteLength} bytes]`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns what is at a path of a value; undefined if nothing is. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

/** For `JSON.stringify`: objects with their fields in the order of their names, which says nothing. */
export function inOrder(_name: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Returns what a JSON pointer, such as `#/$defs/a~1b`, leads to in a value; undefined if nothing is there. */
export function pointedAt(value: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1);
  return names.reduce((inner, part) => {
    const name = decodedUri(part).replaceAll('~1', '/').replaceAll('~0', '~');
    return typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
      ? Reflect.get(inner, name)
      : undefined;
  }, value);
}

/** Returns what a text is the JSON of; undefined if it is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Parses JSON. An integer that no number holds exactly becomes a text of its digits, since it may be an id. A runtime that
 * does not pass on the source of a value (Node before 21) rounds it.
 */
export function exactJson(text: string): unknown {
  return JSON.parse(text, (_, value: unknown, ...more: [{ source?: string }?]) => inexact(value, more[0]) ?? value);
}

/** Names the first number in JSON text that JavaScript cannot represent exactly; null if every number is exact. */
export function inexactNumber(text: string): string | null {
  if (!/\d{16}|e\+?\d{3}/i.test(text)) return null;
  let found: string | null = null;
  JSON.parse(text, (_, value: unknown, ...more: [{ source?: string }?]) => {
    found ??= inexact(value, more[0]);
    return value;
  });
  return found === null ? null : `${found} is more than a number holds exactly`;
}

function inexact(value: unknown, { source = '' }: { source?: string } = {}): string | null {
  if (typeof value !== 'number' || source === '') return null;
  // Also `1e400`, which is more than any number.
  const isInexact = /^-?\d+$/.test(source) ? !Number.isSafeInteger(value) : !Number.isFinite(value);
  return isInexact ? source : null;
}
