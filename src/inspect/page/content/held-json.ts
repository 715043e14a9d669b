const tokens = /"(?:[^"\\]|\\.)*"|[^\s"[\]{},:]+|[[\]{},:]/g;
/** Digits that a number keeps, whatever they are. */
const keptDigits = 15;

/**
 * Returns the object or list that a text holds; the text itself if it holds none, or one that a value cannot keep: a
 * number of too many digits, a field that stands twice, or fields in another order.
 */
export function heldJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    const value: unknown = JSON.parse(text);
    return asValue(text) === JSON.stringify(value) ? value : text;
  } catch {
    return text;
  }
}

/** A text of JSON as `JSON.stringify` writes its value, if nothing of it is lost. */
function asValue(text: string): string {
  const written = Array.from(text.matchAll(tokens), ([token]) => {
    if (token.startsWith('"')) return JSON.stringify(JSON.parse(token));
    if (!/^-?\d/.test(token)) return token;
    const digits = token
      .replace(/[eE].*$/, '')
      .replace(/\D/g, '')
      .replace(/^0+/, '');
    const number = Number(token);
    const isKept = digits.length <= keptDigits && Number.isFinite(number) && !Object.is(number, -0);
    return isKept ? JSON.stringify(number) : token;
  });
  return written.join('');
}
