/**
 * Returns a function that makes a value at its first call. For schemas that most processes never use: making them all
 * would slow down every start.
 */
export function lazily<Value extends object>(make: () => Value): () => Value {
  let made: Value | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
