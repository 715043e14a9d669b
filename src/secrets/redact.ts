import type { Json } from '../../machines/index.ts';
import { headOf } from '../platform/text.ts';
import { isSecretField, removed, secretShapes } from './shapes.ts';

/** A value nested more deeply is removed whole, since to search it could overflow the stack. */
const deepest = 1_000;

/** Matches the names of fields whose value is a credential, regardless of its form. */
const credentialName = /^(?:authorization|x-api-key|api[-_]?key|x-goog-api-key|access[-_]?token)$/i;

/** What is Pawl's own in a value: words in some fields, and the names of fields outside of those that hold others' data. */
export type Ours = { isWord(field: string, text: string): boolean; holdsData(field: string): boolean };

/**
 * Removes keys and credentials from all texts in a value, and from fields with a credential's name (S-5). What is `ours`
 * stays.
 */
export function redactJson(value: Json, secrets: readonly string[], ours: Ours | null = null, depth = 0): Json {
  if (typeof value === 'string') return redact(value, secrets);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > deepest) return removed;
  if (Array.isArray(value)) return value.map((item) => redactJson(item, secrets, ours, depth + 1));
  const clean = (name: string, item: Json): Json => {
    if (Array.isArray(item) && ours?.holdsData(name) !== true) return item.map((one) => clean(name, one));
    if (typeof item !== 'string')
      return redactJson(item, secrets, ours?.holdsData(name) === true ? null : ours, depth + 1);
    if (ours?.isWord(name, item) === true) return item;
    return credentialName.test(name) || isSecretField(name) ? removed : redact(item, secrets);
  };
  // `fromEntries` defines its fields, so that one named `__proto__` stays a field.
  return Object.fromEntries(
    Object.entries(value).map(
      ([name, item]) => [ours === null ? redact(name, secrets) : name, clean(name, item)] as const,
    ),
  );
}

/** Removes known secrets, by exact match, from all texts in a value (S-5). Returns the same value if it holds none. */
export function withoutSecrets<T>(value: T, secrets: readonly string[], depth?: number): T;
export function withoutSecrets(value: unknown, secrets: readonly string[], depth = 0): unknown {
  if (secrets.length === 0) return value;
  if (typeof value === 'string') return secrets.reduce((text, secret) => text.replaceAll(secret, removed), value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > deepest) return removed;
  if (Array.isArray(value)) {
    const clean = value.map((item) => withoutSecrets<unknown>(item, secrets, depth + 1));
    return clean.some((item, index) => item !== value[index]) ? clean : value;
  }
  const entries = Object.entries(value);
  const clean = entries.map(([name, item]) => [
    withoutSecrets(name, secrets),
    withoutSecrets<unknown>(item, secrets, depth + 1),
  ]);
  const isSame = clean.every(([name, item], index) => name === entries[index]?.[0] && item === entries[index]?.[1]);
  // `fromEntries` defines its fields, so that one named `__proto__` stays a field.
  return isSame ? value : Object.fromEntries(clean);
}

/** The fields of an event that hold Pawl's own words, or ids that a caller needs unchanged. */
const ownFields = new Set(['type', 'sessionId', 'childSessionId', 'path', 'callId', 'slug', 'slugs', 'status']);

/** Removes known secrets from an event of a session (S-5). Returns the same event if it holds none. */
export function eventWithoutSecrets<Event extends { type: string }>(event: Event, secrets: readonly string[]): Event {
  if (secrets.length === 0) return event;
  const entries = Object.entries(event);
  const clean = entries.map(([name, item]) => [name, ownFields.has(name) ? item : withoutSecrets(item, secrets)]);
  return clean.every(([, item], index) => item === entries[index]?.[1]) ? event : Object.fromEntries(clean);
}

/** Returns the nearest position at which a cut of `text` splits no secret, towards its start or its end (S-5). */
export function betweenSecrets(
  text: string,
  position: number,
  secrets: readonly string[],
  to: 'start' | 'end',
): number {
  let at = position;
  for (let before = -1; before !== at; ) {
    before = at;
    for (const secret of secrets) {
      const from = at === 0 ? -1 : text.lastIndexOf(secret, at - 1);
      if (from !== -1 && from + secret.length > at) at = to === 'start' ? from : from + secret.length;
    }
  }
  return at;
}

/** Returns the length of the longest end of `text` with which a secret begins. */
export function beginningOfSecret(text: string, secrets: readonly string[]): number {
  let longest = 0;
  for (const secret of secrets) {
    for (let length = Math.min(secret.length - 1, text.length); length > longest; length -= 1) {
      if (text.endsWith(secret.slice(0, length))) longest = length;
    }
  }
  return longest;
}

/** Removes secrets from what code of the application threw, and cuts it: it may hold anything, and be of any length. */
export function redactReason(why: string, secrets: readonly string[]): string {
  return headOf(redact(why, secrets), 4_000);
}

/** Removes keys and credentials from `text` (S-5): known ones by exact match, others by pattern. */
export function redact(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, removed);
  for (const { pattern, replacement } of secretShapes) {
    clean = typeof replacement === 'string' ? clean.replace(pattern, replacement) : clean.replace(pattern, replacement);
  }
  return clean;
}
