export const shortestSecret = 6;
/** A line of a key has no spaces and at least so many characters. */
const shortestLine = 16;

export function longSecrets(found: readonly string[]): string[] {
  return longestFirst(found.flatMap(asWritten).filter((secret) => secret.length >= shortestSecret));
}

/** Returns secrets as they are and as URLs and JSON write them, in an order in which all of them can be replaced. */
export function writtenSecrets(secrets: readonly string[]): string[] {
  return longestFirst(secrets.filter((secret) => secret !== '').flatMap(asWritten));
}

/** Replacing a part first would leave the rest of the longer secret. */
export function longestFirst(secrets: Iterable<string>): string[] {
  return [...new Set(secrets)].sort((one, other) => other.length - one.length);
}

/**
 * Returns the forms of a secret: as is, as in a URL, a form or JSON, and without surrounding space, as HTTP sends it. Some
 * writers of JSON escape slashes, and all that is not ASCII. A diff writes something before each line.
 */
function asWritten(secret: string): string[] {
  const trimmed = secret.trim();
  const lines = trimmed.split(/\r?\n/).map((line) => line.trim());
  const known = [
    secret,
    ...(trimmed.length < shortestSecret ? [] : [trimmed]),
    ...(lines.length === 1 ? [] : lines.filter((line) => line.length >= shortestLine && !/\s/.test(line))),
  ];
  return known.flatMap((one) => {
    const wellFormed = one.toWellFormed();
    const form = new URLSearchParams({ '': wellFormed }).toString().slice(1);
    const json = JSON.stringify(one).slice(1, -1);
    const inJson = [json, inAscii(json)].flatMap((text) => [text, text.replaceAll('/', '\\/')]);
    return [one, encodeURIComponent(wellFormed), form, ...inJson];
  });
}

function inAscii(text: string): string {
  return text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
