/** Values nested more deeply are shared, so that hostile nesting cannot overflow the stack. */
const deepest = 500;

/** Returns a deep copy of arrays and plain objects that the receiver may modify. Other objects, such as bytes, are shared. */
export function ownCopy<Value>(value: Value): Value {
  return copy(value, 0) as Value;
}

/** The fields are assigned, which is faster than `Object.fromEntries`: every event is copied. */
function copy(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > deepest) return value;
  if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const own: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const item: unknown = Reflect.get(value, name);
    // An assignment would set the prototype.
    if (name === '__proto__') Object.defineProperty(own, name, { value: item, enumerable: true, writable: true });
    else own[name] = typeof item === 'object' ? copy(item, depth + 1) : item;
  }
  return own;
}
