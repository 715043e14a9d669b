import { beginningOfSecret, betweenSecrets, withoutSecrets } from './redact.ts';
import { removed } from './shapes.ts';

/** What a text says, and where each of its characters is written. The place after the last is the end of what is read. */
type Reading = { said: string; placeOf(index: number): number };

const oneEscape = /\\(?:u([0-9a-fA-F]{4})|([^u]))/y;
const unfinished = /^\\(?:u[0-9a-fA-F]{0,3})?$/;
const letters: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Reads a text with the escapes of JSON resolved. One that is not whole at the end is not read; a broken one is text. */
function unescaped(text: string): Reading {
  const places: number[] = [];
  let said = '';
  let at = 0;
  while (at < text.length && !unfinished.test(text.slice(at, at + 6))) {
    oneEscape.lastIndex = at;
    const [whole = text.charAt(at), hex, letter] = text[at] === '\\' ? (oneEscape.exec(text) ?? []) : [];
    places.push(at);
    if (hex !== undefined) said += String.fromCharCode(Number.parseInt(hex, 16));
    else said += letter === undefined ? whole : (letters[letter] ?? letter);
    at += whole.length;
  }
  places.push(at);
  return { said, placeOf: (index) => places[index] ?? at };
}

/** Returns how much of a text can be shown: no secret can begin in it and end beyond, and none is cut in two. */
export function safeLength(text: string, secrets: readonly string[]): number {
  return betweenSecrets(text, text.length - beginningOfSecret(text, secrets), secrets, 'start');
}

/** `safeLength` of a text that may be JSON, which can write any character as an escape. */
export function safeWrittenLength(text: string, secrets: readonly string[]): number {
  const asIs = safeLength(text, secrets);
  if (!text.includes('\\')) return asIs;
  const { said, placeOf } = unescaped(text);
  return Math.min(asIs, placeOf(safeLength(said, secrets)));
}

/** Removes secrets from a text that may be JSON, as they are and as escapes write them (S-5). */
export function withoutWrittenSecrets(text: string, secrets: readonly string[]): string {
  if (!text.includes('\\')) return withoutSecrets(text, secrets);
  const { said, placeOf } = unescaped(text);
  const found = secrets.flatMap((secret) => placesOf(secret, said)).sort((one, other) => one.from - other.from);
  let shown = '';
  let end = 0;
  for (const { from, to } of found) {
    // Where secrets overlap, the rest of the second is removed with the first.
    if (placeOf(from) >= end) shown += text.slice(end, placeOf(from)) + removed;
    end = Math.max(end, placeOf(to));
  }
  return withoutSecrets(shown + text.slice(end), secrets);
}

function placesOf(secret: string, text: string): { from: number; to: number }[] {
  const places: { from: number; to: number }[] = [];
  for (let from = text.indexOf(secret); from !== -1; from = text.indexOf(secret, from + 1))
    places.push({ from, to: from + secret.length });
  return places;
}
