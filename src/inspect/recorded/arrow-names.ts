/** Names for guards and arrows, shared by the pictures and the walks over all paths. */

type Guarded = {
  source: { id: string };
  target?: readonly { id: string }[];
  eventType: string | null;
  guard?: unknown;
};

export function arrowName({ source, target, eventType, guard }: Guarded): string {
  const where = target?.map((node) => node.id).join(' ') ?? '(stays)';
  return `${source.id} --${eventType || 'always'}${guard === undefined ? '' : ` [${guardText(guard)}]`}--> ${where}`;
}

export function guardText(guard: unknown): string {
  if (typeof guard === 'string') return guard;
  if (typeof guard === 'function')
    return `not ${((guard as { guards?: unknown[] }).guards ?? []).map(guardText).join(' ')}`;
  const { type, params } = guard as { type: string; params?: unknown };
  return guardName(type, typeof params === 'function' ? params({ event: anything, context: anything }) : params);
}

/** Returns a guard's name with the constant that distinguishes its uses. */
export function guardName(name: string, params: unknown): string {
  if (typeof params !== 'object' || params === null) return name;
  const { outcome, status } = params as { outcome?: unknown; status?: unknown };
  const told = [outcome, status].find((value) => typeof value === 'string');
  return told === undefined ? name : `${name}(${told})`;
}

/** A placeholder for an event or a context, used to read only the constants in params. */
const anything: unknown = new Proxy(() => undefined, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : anything),
});
