type Fields = Record<string, unknown>;

/** Stands for text that looks like a JSON object but does not parse: truncated, with an extra comma, or with a comment. */
export const unreadable = Symbol('unreadable');

/** A pair of braces in a text; `end` is null if it is not closed. */
type Braces = { start: number; end: number | null; inner: Braces[] };

/** Returns the last top-level JSON object with at least one field in a text, or null if none can be parsed. */
export function lastObject(text: string): Fields | null {
  const found = lastStated(text);
  return found === unreadable ? null : found;
}

/**
 * Returns the last top-level JSON object with fields in a text, since an empty `{}` may be part of code; `unreadable` if
 * something that looks like one stands there, whose parts state nothing of their own.
 */
export function lastStated(text: string): Fields | typeof unreadable | null {
  const whole = objectIn(text.trim());
  if (whole !== null) return whole;
  let found: Fields | typeof unreadable | null = null;
  const left = bracesIn(text).reverse();
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { start, end, inner } = next;
    const object = end === null ? null : objectIn(text.slice(start, end));
    if (object !== null) {
      // Which one of a list counts is not clear.
      if (isListed(text, start)) found = unreadable;
      else if (Object.keys(object).length > 0) found = object;
      continue;
    }
    const isOne = isObject(text, start);
    if (isOne) found = unreadable;
    const own = isOne ? (end === null ? inner.filter((one) => !isValue(text, one.start)) : []) : inner;
    for (const one of own.reverse()) left.push(one);
  }
  return found;
}

/** Characters in which the first key of an object is looked for. */
const mostOfKey = 200;
const beginning = /^\{\s*"(?:[^"\\]|\\.)*"\s*:/;

function isObject(text: string, start: number): boolean {
  return beginning.test(text.slice(start, start + mostOfKey));
}

/** Whether an object follows another one and a comma. */
function isListed(text: string, start: number): boolean {
  return /\}\s*,\s*$/.test(before(text, start));
}

/** Whether braces stand where the value of a field or an item of a list does. */
function isValue(text: string, start: number): boolean {
  return /(?:[[,]|"\s*:)\s*$/.test(before(text, start));
}

function before(text: string, start: number): string {
  return text.slice(Math.max(0, start - mostOfKey), start);
}

/** Returns the outer braces of a text, with those inside them. Within braces, a text between quotes has none. */
function bracesIn(text: string): Braces[] {
  const outer: Braces[] = [];
  const open: Braces[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '{') {
      const braces: Braces = { start: at, end: null, inner: [] };
      (open.at(-1)?.inner ?? outer).push(braces);
      open.push(braces);
    } else if (char === '}') {
      const closed = open.pop();
      if (closed !== undefined) closed.end = at + 1;
    } else if (char === '"' && open.length > 0) {
      at = endOfText(text, at, isObject(text, open.at(-1)?.start ?? 0));
    }
  }
  return outer;
}

/**
 * Returns the position of the quote that ends a text, or of the end of its line. A text of an object may hold line breaks
 * by mistake, but no line that begins another object.
 */
function endOfText(text: string, quote: number, isOfObject: boolean): number {
  let at = quote + 1;
  for (; at < text.length && text[at] !== '"'; at += text[at] === '\\' ? 2 : 1)
    if (text[at] === '\n' && !(isOfObject && !/^\s*(?:\{|```)/.test(text.slice(at, at + mostOfKey)))) return at;
  return at;
}

function objectIn(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
