/** Deeper values are shared, so that one that is made to be deep cannot use up the stack. */
const deepest = 500;

/** Copies lists and plain objects for somebody who may change them; other objects, such as bytes, are shared. */
export function ownCopy<Value>(value: Value): Value {
  return copy(value, 0) as Value;
}

function copy(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > deepest) return value;
  if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, copy(item, depth + 1)]));
}
