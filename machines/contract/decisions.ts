/**
 * The fields of facts that hold our own words, or count them. A release may change them, and no rule reads them in a fact
 * (D-6). What a model, a tool or a person said came in a delivery, and is the same in every replay.
 */
const words: ReadonlySet<string> = new Set([
  ...['detail', 'notice', 'reasons', 'message', 'result', 'output', 'kept', 'tokens'],
]);

const none: ReadonlySet<string> = new Set();

/** Whether two facts state the same decision: they differ in words at most. */
export function isSameDecision(one: unknown, other: unknown): boolean {
  return isSame(one, other, words);
}

/** Whether two values are the same JSON, in any order of their fields. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return isSame(one, other, none);
}

function isSame(one: unknown, other: unknown, ignored: ReadonlySet<string>): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  for (const name of names) {
    if (!ignored.has(name) && !isSame(Reflect.get(one, name), Reflect.get(other, name), ignored)) return false;
  }
  return true;
}
