const removed = '[redacted]';

/** Shapes of keys and credentials that providers and their error messages are known to use (S-5). */
const shapes: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${removed}`],
  [/\b(?:sk|pk|rk|gsk|xai|ghp|gho|hf|key)[-_][A-Za-z0-9_*-]{8,}/g, removed],
  [/\bAIza[A-Za-z0-9_-]{20,}/g, removed],
  [/\b(authorization|x-api-key|api[-_]?key|x-goog-api-key)(["']?\s*[:=]\s*["']?)[^\s"',;)}]+/gi, `$1$2${removed}`],
];

const secretHeader = /authorization|key|token|secret|cookie/i;

/** The values of the headers that carry credentials, to be removed wherever they turn up. */
export function secretsIn(headers: Record<string, string | undefined>): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value !== undefined && value.length >= 6 && secretHeader.test(name) ? [value] : [],
  );
}

/** `text` without keys and credentials (S-5): the known ones to the letter, others by their shape. */
export function redact(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, removed);
  for (const [shape, replacement] of shapes) clean = clean.replace(shape, replacement);
  return clean;
}
