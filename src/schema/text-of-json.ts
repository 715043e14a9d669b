import { exactJson, inexactNumber } from '../platform/plain-json.ts';
import type { Path } from './validation.ts';

/** Returns what a text is the JSON of, if it is JSON of anything but a text and loses nothing; undefined otherwise. */
export function parsedWhole(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    const value = exactJson(text);
    return typeof value === 'string' || inexactNumber(text) !== null ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Returns a copy of JSON with another value at a path. */
export function withValueAt(value: unknown, [key, ...rest]: Path, replacement: unknown): unknown {
  if (key === undefined) return replacement;
  if (Array.isArray(value)) {
    return value.map((item, index) => (String(index) === String(key) ? withValueAt(item, rest, replacement) : item));
  }
  if (typeof value !== 'object' || value === null) return value;
  // `fromEntries` defines its fields, so that one named `__proto__` stays a field.
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, name === key ? withValueAt(item, rest, replacement) : item]),
  );
}
