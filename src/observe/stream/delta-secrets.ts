import { beginningOfSecret, betweenSecrets, removed, withoutSecrets } from '../../agent/redact.ts';
import type { Sighting } from '../events.ts';

type Delta = Extract<Sighting, { type: 'model.delta' }>;

/** Removes secrets from deltas, even one that is split: it holds back text that may be the beginning of one (S-5). */
export class DeltaSecrets {
  private readonly secrets: readonly string[];
  /** What each part holds back, as a delta that is still to come. */
  private readonly held = new Map<number, Delta>();

  constructor(secrets: readonly string[]) {
    this.secrets = secrets;
  }

  /** Returns what may be shown of a delta and of the text held back before it; null if that is nothing yet. */
  take(given: Delta): Delta | null {
    const { secrets } = this;
    const delta = { ...given, toolName: withoutSecrets(given.toolName, secrets) };
    const text = (this.held.get(delta.part)?.delta ?? '') + delta.delta;
    const reading = readingOf(delta);
    const shown = safeLength(reading(text), secrets);
    if (shown < text.length) this.held.set(delta.part, { ...delta, delta: text.slice(shown) });
    else this.held.delete(delta.part);
    return shown === 0 ? null : { ...delta, delta: withoutWritten(text.slice(0, shown), secrets, reading) };
  }

  /** Returns what is held back of a part that has ended, so that it precedes the next part; null if nothing is. */
  endOf(part: number): Delta | null {
    const held = this.held.get(part);
    this.held.delete(part);
    return held === undefined ? null : this.shown(held);
  }

  /** Returns all text held back: nothing more of these parts will come. */
  rest(): Delta[] {
    const rest = [...this.held.values()];
    this.held.clear();
    return rest.map((delta) => this.shown(delta));
  }

  private shown(delta: Delta): Delta {
    return { ...delta, delta: withoutWritten(delta.delta, this.secrets, readingOf(delta)) };
  }
}

/** What a text says, and where each of its characters is written; the last place is the end of what can be read. */
type Reading = { said: string; placeOf(index: number): number };

const plain = (text: string): Reading => ({ said: text, placeOf: (index) => index });

/** The input of a call is JSON, which may write any character as an escape. */
function readingOf({ kind }: Delta): (text: string) => Reading {
  return kind === 'tool-input' ? unescaped : plain;
}

const oneEscape = /\\(?:u([0-9a-fA-F]{4})|([^u]))/y;
const escaped: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Reads a piece of JSON with its escapes resolved. An escape that is not yet whole at the end is not read. */
function unescaped(text: string): Reading {
  if (!text.includes('\\')) return plain(text);
  const places: number[] = [];
  let said = '';
  let at = 0;
  while (at < text.length) {
    oneEscape.lastIndex = at;
    const [whole, hex, letter = ''] = text[at] === '\\' ? (oneEscape.exec(text) ?? []) : [text[at]];
    if (whole === undefined) break;
    places.push(at);
    said += whole.length === 1 ? whole : hex === undefined ? (escaped[letter] ?? letter) : fromHex(hex);
    at += whole.length;
  }
  places.push(at);
  return { said, placeOf: (index) => places[index] ?? at };
}

function fromHex(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

/** Returns how much of a text no secret can begin in and go on beyond; none is cut in two either. */
function safeLength({ said, placeOf }: Reading, secrets: readonly string[]): number {
  return placeOf(betweenSecrets(said, said.length - beginningOfSecret(said, secrets), secrets, 'start'));
}

/** Removes secrets from a text, however it writes them. */
function withoutWritten(text: string, secrets: readonly string[], reading: (text: string) => Reading): string {
  let clean = text;
  for (const secret of secrets) {
    const { said, placeOf } = reading(clean);
    if (!said.includes(secret)) continue;
    const pieces: string[] = [];
    let from = 0;
    for (let at = said.indexOf(secret); at !== -1; at = said.indexOf(secret, from)) {
      pieces.push(clean.slice(placeOf(from), placeOf(at)));
      from = at + secret.length;
    }
    clean = [...pieces, clean.slice(placeOf(from))].join(removed);
  }
  return clean;
}
