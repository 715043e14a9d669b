import { unexpected } from '../../input/errors.ts';

/** Numbers at a step, by their paths, such as `counters.notices` or `session.maxTurns`; null for one that is not there. */
export type Read = (path: string) => number | null;

/** An expression over a step: what it reads, and its value; null where it reads what is not there. */
export type Watch = { text: string; paths: string[]; value(read: Read): number | null };

type Node = (read: Read) => number | null;

const operators: Record<string, (one: number, other: number) => number> = {
  '+': (one, other) => one + other,
  '-': (one, other) => one - other,
  '*': (one, other) => one * other,
  '/': (one, other) => one / other,
};

/**
 * Reads an expression of numbers, paths, + - * / and parentheses, such as `counters.requests / counters.turns`. Paths
 * begin with `counters`, or with a machine, for its context: `session`, `turn`, `attempt` or `toolCall`. Throws
 * `invalid_options` for anything else.
 */
export function readWatch(text: string): Watch {
  const tokens = [...text.matchAll(/\s*([A-Za-z]\w*(?:\.\w+)+|\d+(?:\.\d+)?|[-+*/()])|\s*(\S)/g)];
  const refused = (what: string) =>
    unexpected(
      'invalid_options',
      'watch',
      what,
      'numbers, paths such as counters.notices or session.maxTurns, + - * / and ( )',
    );
  const odd = tokens.find(([, , stray]) => stray !== undefined)?.[2];
  if (odd !== undefined || tokens.length === 0) throw refused(odd ?? text);
  const paths = new Set<string>();
  let position = 0;
  const peek = () => tokens[position]?.[1];
  const next = () => {
    const token = peek();
    position += 1;
    return token;
  };
  const atom = (): Node => {
    const token = next();
    if (token === '(') {
      const inner = sum();
      if (next() !== ')') throw refused(text);
      return inner;
    }
    if (token === undefined || token in operators || token === ')') throw refused(text);
    if (/^\d/.test(token)) return () => Number(token);
    if (!/^(counters|session|turn|attempt|toolCall)\./.test(token)) throw refused(token);
    paths.add(token);
    return (read) => read(token);
  };
  const chain = (below: () => Node, signs: string): Node => {
    let left = below();
    for (let sign = peek(); sign !== undefined && signs.includes(sign); sign = peek()) {
      next();
      const [one, other, act] = [left, below(), operators[sign]];
      left = (read) => {
        const [a, b] = [one(read), other(read)];
        return a === null || b === null || act === undefined ? null : act(a, b);
      };
    }
    return left;
  };
  const product = () => chain(atom, '*/');
  const sum = (): Node => chain(product, '+-');
  const value = sum();
  if (position < tokens.length) throw refused(text);
  return { text, paths: [...paths], value };
}

/** The number at a path of a context; null if there is none. A boolean is 0 or 1, a list its length. */
export function numberAt(context: unknown, path: readonly string[]): number | null {
  let value = context;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  return Array.isArray(value) ? value.length : null;
}
